import { describe, expect, it } from "@effect/vitest"
import { Bus } from "@skein/core/Bus"
import { Journal } from "@skein/core/Journal"
import { exportTree, importTree } from "@skein/core/SessionArchive"
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import { Ids, MessageID, PartID, RunID, SessionID } from "@skein/domain/Id"
import * as Sqlite from "@skein/storage/Sqlite"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { join } from "node:path"
import { sessionOf } from "./support/rows.ts"
import { sql } from "./support/sql.ts"
import { temporary } from "./support/startProcess.ts"

const bytesOf = (text: string) => Stream.encodeText(Stream.make(text))

const ses = (name: string) => SessionID.make(`ses_${name}`)
const time = { created: 1 }

const session = (name: string) =>
  sessionOf(ses(name), name, {
    ...(name.length === 1 ? {} : { parentID: ses(name.slice(0, -1)) }),
    rootID: ses("a"),
    depth: name.length - 1
  })

const said = (name: string, messages: number): ReadonlyArray<Write> => [
  { _tag: "Session", info: session(name) },
  ...Array.from({ length: messages }, (_, i): ReadonlyArray<Write> => {
    const n = String(i).padStart(5, "0")
    const messageID = MessageID.make(`msg_${name}${n}`)
    const base = { sessionID: ses(name), messageID, type: "text", text: n } as const
    return [
      { _tag: "Message", info: { id: messageID, sessionID: ses(name), role: "user", agent: "build", time } },
      { _tag: "Part", part: { ...base, id: PartID.make(`prt_${name}${n}`) } },
      { _tag: "Part", part: { ...base, id: PartID.make(`prt_${name}${n}x`) } }
    ]
  }).flat(),
  { _tag: "Inbox", row: { id: MessageID.make(`msg_${name}z`), sessionID: ses(name), kind: "note", parts: [], time } },
  { _tag: "Todos", sessionID: ses(name), todos: [{ content: name, status: "pending", priority: "low" }] }
]

const run: Write = {
  _tag: "Run",
  run: {
    id: RunID.make("run_1"),
    taskID: ses("ab"),
    parentID: ses("a"),
    rootID: ses("a"),
    agent: "build",
    description: "d",
    prompt: "p",
    background: false,
    state: "running",
    time
  }
}

const on = (filename: string) =>
  Effect.provide(
    Journal.layer.pipe(Layer.provideMerge(Layer.mergeAll(Sqlite.layer({ filename }), Bus.layer, Ids.layer)))
  )

const commit = (writes: ReadonlyArray<Write>) => Effect.flatMap(SessionStorage, (storage) => storage.commit(writes))

const exported = Effect.suspend(() => {
  const pieces: Array<string> = []
  return Effect.map(
    exportTree(ses("a"), (piece) => Effect.sync(() => void pieces.push(piece))),
    (done) => ({ ...done, pieces, text: pieces.join("") })
  )
})

const file = (name: string) => Effect.map(temporary, (directory) => join(directory, `${name}.db`))

describe("an archive on SQLite", () => {
  it.scoped("lists what is unreadable, and is valid without it", () =>
    Effect.gen(function*() {
      const from = yield* file("from")
      yield* on(from)(commit([...said("a", 2), ...said("ab", 1), ...said("abc", 1), ...said("ac", 1), run]))
      yield* sql(from, "UPDATE session SET data = '{' WHERE id = 'ses_ab'")
      yield* sql(from, "UPDATE message SET data = '{' WHERE id = 'msg_a00000'")
      yield* sql(from, "UPDATE part SET data = '{' WHERE id = 'prt_a00001'")
      yield* sql(from, "UPDATE inbox SET data = '{' WHERE session_id = 'ses_a'")
      yield* sql(from, "UPDATE todo SET data = '{' WHERE session_id = 'ses_ac'")
      const { messages, sessions, text, unreadable } = yield* on(from)(exported)
      expect({ messages, sessions }).toEqual({ messages: 2, sessions: 2 })
      expect(unreadable.map(({ id }) => id).toSorted()).toEqual(
        ["msg_a00000", "msg_az", "prt_a00001", "ses_ab", "ses_abc", "ses_ac"]
      )
      const to = yield* file("to")
      yield* on(to)(importTree(bytesOf(text)))
      expect(yield* sql(to, "SELECT id FROM session ORDER BY id")).toEqual([{ id: "ses_a" }, { id: "ses_ac" }])
      expect(yield* sql(to, "SELECT id FROM run")).toEqual([])
    }))

  it.scoped("is imported in one commit: if a row is refused, nothing is stored", () =>
    Effect.gen(function*() {
      const from = yield* file("from")
      yield* on(from)(commit([...said("a", 3), ...said("ab", 3), run]))
      const { text } = yield* on(from)(exported)
      const to = yield* file("to")
      yield* on(to)(Effect.void)
      yield* sql(
        to,
        "CREATE TRIGGER refuse BEFORE INSERT ON run BEGIN SELECT RAISE(ABORT, 'not this one'); END"
      )
      expect(yield* Effect.flip(on(to)(importTree(bytesOf(text))))).toMatchObject({ _tag: "StorageError" })
      for (const table of ["session", "message", "part", "inbox", "todo", "event"]) {
        expect(yield* sql(to, `SELECT * FROM ${table}`)).toEqual([])
      }
      yield* sql(to, "DROP TRIGGER refuse")
      yield* on(to)(importTree(bytesOf(text)))
      const again = yield* on(to)(exported)
      expect(again).toMatchObject({ sessions: 2, messages: 6, unreadable: [] })
    }))

  it.scoped("of 10,000 messages is exported and imported one session at a time", () =>
    Effect.gen(function*() {
      const from = yield* file("from")
      yield* on(from)(commit([...said("a", 5_000), ...said("ab", 5_000), run]))
      const { messages, pieces, text } = yield* on(from)(exported)
      expect(messages).toBe(10_000)
      expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(text.length * 0.6)
      const to = yield* file("to")
      const copy = yield* on(to)(importTree(bytesOf(text), { copy: true }))
      const rows = yield* sql(
        to,
        "SELECT data FROM part WHERE session_id = (SELECT id FROM session WHERE depth = 1) ORDER BY id"
      )
      expect(rows.length).toBe(10_000)
      expect(rows[0]).toEqual({ data: expect.stringContaining("\"text\":\"00000\"") })
      expect(rows.at(-1)).toEqual({ data: expect.stringContaining("\"text\":\"04999\"") })
      expect(copy.id).not.toBe("ses_a")
    }), 60_000)
})
