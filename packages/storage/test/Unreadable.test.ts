import { describe, expect, it } from "@effect/vitest"
import { SessionStorage, type UnreadableEvent, type Write } from "@skein/core/SessionStorage"
import { EventID, MessageID, PartID, RunID, SessionID } from "@skein/domain/Id"
import * as Sqlite from "@skein/storage/Sqlite"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { sessionOf } from "./support/rows.ts"
import { sql } from "./support/sql.ts"
import { temporary } from "./support/startProcess.ts"

const ses = (name: string) => SessionID.make(`ses_${name}`)
const msg = (name: string) => MessageID.make(`msg_${name}`)

const session = (name: string, updated: number) => sessionOf(ses(name), name, { time: { created: 1, updated } })

const rowsOf = (name: string, updated: number): ReadonlyArray<Write> => {
  const sessionID = ses(name)
  const part = { id: PartID.make(`prt_${name}`), sessionID, messageID: msg(name), type: "text", text: name } as const
  const event = { timestamp: 1, sessionID, rootID: sessionID, depth: 0 }
  return [
    { _tag: "Session", info: session(name, updated) },
    { _tag: "Message", info: { id: msg(name), sessionID, role: "user", agent: "build", time: { created: 1 } } },
    { _tag: "Part", part },
    { _tag: "Part", part: { ...part, id: PartID.make(`prt_${name}x`) } },
    {
      _tag: "Run",
      run: {
        id: RunID.make(`run_${name}`),
        taskID: sessionID,
        parentID: sessionID,
        rootID: sessionID,
        agent: "explore",
        description: name,
        prompt: name,
        background: false,
        state: "running",
        time: { created: 1 }
      }
    },
    { _tag: "Inbox", row: { id: msg(`${name}x`), sessionID, kind: "prompt", parts: [], time: { created: 1 } } },
    { _tag: "Todos", sessionID, todos: [{ content: name, status: "pending", priority: "low" }] },
    {
      _tag: "Event",
      event: { ...event, id: EventID.make(`evt_${name}1`), type: "message.part.updated", properties: { part } }
    },
    { _tag: "Event", event: { ...event, id: EventID.make(`evt_${name}2`), type: "session.idle", properties: {} } }
  ]
}

/** A database with the rows of the sessions a and b, some of them damaged. */
const spoilt = (...statements: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const filename = join(yield* temporary, "skein.db")
    yield* Effect.flatMap(SessionStorage, (storage) => storage.commit([...rowsOf("a", 1), ...rowsOf("b", 2)])).pipe(
      Effect.provide(Sqlite.layer({ filename }))
    )
    for (const statement of statements) yield* sql(filename, statement)
    return filename
  })

const read = <A, E>(filename: string, use: (storage: typeof SessionStorage.Service) => Effect.Effect<A, E>) =>
  Effect.provide(Effect.flatMap(SessionStorage, use), Sqlite.layer({ filename }))

describe("SQLite, with rows that cannot be read", () => {
  it.scoped("lists the other sessions, and names the unreadable ones", () =>
    Effect.gen(function*() {
      const filename = yield* spoilt("UPDATE session SET data = json_remove(data, '$.title') WHERE id = 'ses_b'")
      const found = yield* read(filename, (storage) => storage.sessions({}))
      expect(found.rows.map((info) => info.id)).toEqual([ses("a")])
      expect(found.unreadable).toEqual([{ id: "ses_b", reason: "title: is missing" }])
      const limited = yield* read(filename, (storage) => storage.sessions({ limit: 1 }))
      expect(limited.rows.map((info) => info.id)).toEqual([ses("a")])
      const error = yield* Effect.flip(read(filename, (storage) => storage.session(ses("b"))))
      expect(error).toMatchObject({ reason: "unreadable", message: expect.stringMatching(/ses_b.*title: is missing/) })
    }))

  it.scoped("returns the other messages and parts", () =>
    Effect.gen(function*() {
      const filename = yield* spoilt(
        "UPDATE part SET data = '{' WHERE id = 'prt_a'",
        "UPDATE message SET data = json_set(data, '$.role', 'system') WHERE id = 'msg_b'"
      )
      const inA = yield* read(filename, (storage) => storage.messages(ses("a")))
      expect(inA.rows.map(({ info, parts }) => [info.id, parts.map((part) => part.id)])).toEqual([["msg_a", [
        "prt_ax"
      ]]])
      expect(inA.unreadable).toEqual([{ id: "prt_a", reason: expect.stringContaining("not JSON") }])
      const inB = yield* read(filename, (storage) => storage.messages(ses("b")))
      expect(inB.rows).toEqual([])
      expect(inB.unreadable).toEqual([{ id: "msg_b", reason: expect.stringContaining("role") }])
    }))

  it.scoped("keeps unknown fields of a row that needs full decoding", () =>
    Effect.gen(function*() {
      const state = { status: "completed", output: "", title: "", metadata: {}, time: { start: 1, end: 2 }, later: 1 }
      const part = { id: "prt_a", sessionID: "ses_a", messageID: "msg_a", type: "tool", callID: "", tool: "x", state }
      const filename = yield* spoilt(`UPDATE part SET data = '${JSON.stringify(part)}' WHERE id = 'prt_a'`)
      const found = yield* read(filename, (storage) => storage.messages(ses("a")))
      expect(found.rows[0]?.parts[0]).toMatchObject(part)
    }))

  it.scoped("lists the other runs", () =>
    Effect.gen(function*() {
      const filename = yield* spoilt("UPDATE run SET data = json_set(data, '$.state', 'lost') WHERE id = 'run_a'")
      const found = yield* read(filename, (storage) => storage.runs({}))
      expect(found.rows.map((run) => run.id)).toEqual(["run_b"])
      expect(found.unreadable).toEqual([{ id: "run_a", reason: expect.stringContaining("state") }])
      const error = yield* Effect.flip(read(filename, (storage) => storage.run(RunID.make("run_a"))))
      expect(error.reason).toBe("unreadable")
    }))

  it.scoped("returns the rest of an inbox, and does not ignore unreadable todos", () =>
    Effect.gen(function*() {
      const filename = yield* spoilt("UPDATE inbox SET data = '{}' WHERE id = 'msg_ax'", "UPDATE todo SET data = '{}'")
      const inbox = yield* read(filename, (storage) => storage.inbox(ses("a")))
      expect(inbox.unreadable).toEqual([{ id: "msg_ax", reason: expect.stringContaining("is missing") }])
      expect((yield* read(filename, (storage) => storage.inbox(ses("b")))).rows.length).toBe(1)
      expect((yield* Effect.flip(read(filename, (storage) => storage.todos(ses("a"))))).reason).toBe("unreadable")
    }))

  it.scoped("names the events that it leaves out", () =>
    Effect.gen(function*() {
      const filename = yield* spoilt(
        "UPDATE event SET type = 'thread.spun' WHERE id = 'evt_a2'",
        "UPDATE part SET data = '{}' WHERE id = 'prt_b'"
      )
      const unreadable: Array<UnreadableEvent> = []
      const found = yield* read(
        filename,
        (storage) => storage.events({ after: 0, onUnreadable: (event) => void unreadable.push(event) })
      )
      expect(found.map((logged) => logged.event.id)).toEqual(["evt_a1", "evt_b2"])
      expect(unreadable).toEqual([
        { id: "evt_a2", reason: "a kind of event that this version does not know", position: 2, seq: 2 },
        { id: "evt_b1", reason: expect.stringContaining("is missing"), position: 3, seq: 1 }
      ])
    }))

  it.scoped("leaves out unreadable events, and still returns as many as requested", () =>
    Effect.gen(function*() {
      const filename = yield* spoilt(
        "UPDATE event SET type = 'thread.spun' WHERE id = 'evt_a2'",
        "UPDATE part SET data = '{}' WHERE id = 'prt_a'"
      )
      const found = yield* read(filename, (storage) => storage.events({ after: 0, limit: 2 }))
      expect(found.map((logged) => logged.event.id)).toEqual(["evt_b1", "evt_b2"])
    }))

  it.scoped("stores no copy of a part in its events", () =>
    Effect.gen(function*() {
      const filename = yield* spoilt()
      const rows = yield* sql(
        filename,
        "SELECT type, ref, data FROM event WHERE session_id = 'ses_a' ORDER BY position"
      )
      expect(rows).toEqual([
        { type: "message.part.updated", ref: "prt_a", data: null },
        { type: "session.idle", ref: null, data: "{}" }
      ])
    }))
})
