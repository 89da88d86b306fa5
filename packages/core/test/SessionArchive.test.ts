import { describe, expect, it } from "@effect/vitest"
import { Bus } from "@skein/core/Bus"
import { Journal } from "@skein/core/Journal"
import { Session } from "@skein/core/Session"
import { exportTree } from "@skein/core/SessionArchive"
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import { Tasks } from "@skein/core/Tasks"
import type { Archive } from "@skein/domain/Archive"
import { Ids, MessageID, PartID, RunID, SessionID } from "@skein/domain/Id"
import { Mode, modeOf } from "@skein/domain/Mode"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import { importText } from "./support/archive.ts"
import { callsMade, childrenOf, messagesOf, resultOf, root, treeOf } from "./support/tree.ts"

const agents = [SkeinTest.agent("worker")]
const script = { build: [Scripted.tasks({ worker: "p" }), "done", "again"], worker: ["found it", "more"] }

/** Separate storage, and what archives need besides it. */
const empty = Layer.fresh(
  Journal.layer.pipe(Layer.provideMerge(Layer.mergeAll(SessionStorage.layerMemory, Bus.layer, Ids.layer)))
)

const exported = (id: SessionID) => {
  const pieces: Array<string> = []
  return Effect.map(
    exportTree(id, (piece) => Effect.sync(() => void pieces.push(piece))),
    (done) => ({ ...done, text: pieces.join(""), value: JSON.parse(pieces.join("")) as Archive })
  )
}

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).toSorted(([a], [b]) => a < b ? -1 : 1).map(([k, v]) => [k, sorted(v)])
  )
}

/** Replaces ids by their order of appearance: archives that are equal up to their ids become the same text. */
const upToIDs = (archive: unknown): string => {
  const names = new Map<string, string>()
  return JSON.stringify(sorted(archive)).replaceAll(/\b(ses|msg|prt|run)_[0-9a-z]+/g, (id, prefix: string) => {
    const known = names.get(id) ?? `${prefix}#${names.size}`
    names.set(id, known)
    return known
  })
}

const everyID = (text: string) => new Set(text.match(/\b(?:ses|msg|prt|run)_[0-9a-z]+/g))

const refused = (text: string, options?: Parameters<typeof importText>[1]) => Effect.flip(importText(text, options))

describe("an archive", () => {
  it.effect("is the whole tree, whichever session of it you name, and is restored unchanged", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      yield* Effect.flatMap(Session, (session) => session.append(id, "noted"))
      const [child] = yield* childrenOf(id)
      const first = yield* exported(id)
      expect(first).toMatchObject({ root: id, sessions: 2, messages: 5, unreadable: [] })
      expect(first.value.sessions.map(({ info }) => info.id)).toEqual([id, child!.id])
      expect((yield* exported(child!.id)).value).toEqual(first.value)
      const copy = yield* Effect.gen(function*() {
        expect(yield* importText(first.text)).toEqual(first.value.sessions[0].info)
        return (yield* exported(id)).value
      }).pipe(Effect.provide(empty))
      // Inbox rows get new ids; everything else keeps its id.
      expect(upToIDs(copy)).toBe(upToIDs(first.value))
      const withoutInbox = ({ sessions, ...rest }: Archive) => ({
        ...rest,
        sessions: sessions.map((each) => ({ ...each, inbox: each.inbox.length }))
      })
      expect(withoutInbox(copy)).toEqual(withoutInbox(first.value))
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents }))))

  it.effect("does not decide that less is asked where it is imported", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { value } = yield* exported(id)
      const imported = (mode: Mode) => {
        const sessions = value.sessions.map((each) => ({ ...each, info: { ...each.info, mode } }))
        return Effect.map(importText(JSON.stringify({ ...value, sessions }), { copy: true }), modeOf)
      }
      expect(yield* Effect.forEach(Mode.literals, imported)).toEqual(["plan", "ask", "ask", "ask"])
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents }))))

  it.effect("does not name the host on which it was, because its directory is now elsewhere", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { value: { sessions: [top], ...rest } } = yield* exported(id)
      const moved = { ...rest, sessions: [{ ...top, info: { ...top.info, host: "alpha" } }] }
      expect(yield* importText(JSON.stringify(moved), { copy: true })).not.toHaveProperty("host")
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents }))))

  it.effect("can be continued after an import, and so can its tasks", () =>
    Effect.gen(function*() {
      const { id, text } = yield* Effect.gen(function*() {
        const { id } = yield* root()
        yield* Session.prompt(id, "Go")
        return { id, text: (yield* exported(id)).text }
      }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
      const second = Scripted.make({ build: ["still here"], worker: ["and more"] })
      yield* Effect.gen(function*() {
        yield* importText(text)
        expect((yield* Session.prompt(id, "And now?")).text).toBe("still here")
        const [child] = yield* childrenOf(id)
        expect(JSON.stringify(second.requests[0]?.messages)).toContain("found it")
        const tasks = yield* Tasks
        const request = { parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true }
        expect(yield* tasks.run({ ...request, taskID: child!.id })).toMatchObject({ text: "and more" })
        expect(yield* messagesOf(child!.id)).toHaveLength(4)
      }).pipe(Effect.provide(SkeinTest.layer(second, { agents })))
    }))

  it.effect("of an existing tree is refused, and can be imported as a copy", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      const { text, value } = yield* exported(id)
      expect(yield* refused(text)).toMatchObject({ reason: "exists", message: expect.stringMatching(/--as-copy/) })
      const events = yield* record()
      const copy = yield* importText(text, { copy: true, place: { directory: "/elsewhere", projectID: "q" } })
      expect(copy).toMatchObject({ rootID: copy.id, directory: "/elsewhere", projectID: "q", title: "Test" })
      expect(events.of("session.created").map(({ sessionID }) => sessionID)).toEqual(
        (yield* treeOf(copy.id)).toSorted((a, b) => a.depth - b.depth).map((info) => info.id)
      )
      const again = yield* exported(copy.id)
      const before = everyID(text)
      // Texts are not changed: there, the task still has its old name. Models know the call by its old id.
      const structural = again.text.replaceAll(/"output":"(?:[^"\\]|\\.)*"/g, "").replaceAll(
        /"metadata":\{[^}]*\}|"sentAs":"\w+"/g,
        ""
      )
      expect([...everyID(structural)].filter((each) => before.has(each))).toEqual([])
      expect(yield* childrenOf(copy.id)).toHaveLength(1)
      expect((yield* Session.prompt(copy.id, "And?")).text).toBe("done")
      expect((yield* exported(id)).value.sessions).toEqual(value.sessions)
    }).pipe(
      Effect.scoped,
      Effect.provide(SkeinTest.layer({ ...script, build: [script.build[0]!, "done"] }, { agents }))
    ))

  it.effect("of an interrupted tree reports the outcome of open calls when it continues", () =>
    Effect.gen(function*() {
      const { id, text } = yield* Effect.gen(function*() {
        const { id } = yield* root()
        yield* Session.prompt(id, "Go")
        const { value } = yield* exported(id)
        const open = JSON.stringify(value).replace(
          /"state":\{"status":"completed"/,
          "\"state\":{\"status\":\"running\""
        )
        return { id, text: open }
      }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
      yield* Effect.gen(function*() {
        yield* importText(text)
        expect((yield* callsMade(id)).map(({ state: { status } }) => status)).toEqual(["running"])
        yield* Session.prompt(id, "And now?")
        expect((yield* callsMade(id)).map(resultOf)).toEqual([expect.stringMatching(/Its outcome is unknown/)])
      }).pipe(Effect.provide(SkeinTest.layer({ build: ["ok"] }, { agents })))
    }))
})

// A few ids are enough: what matters is how rows refer to each other.
const infoOf = (n: number, parent: SessionInfo | undefined): SessionInfo => ({
  id: SessionID.make(`ses_${String(n).padStart(3, "0")}`),
  ...(parent === undefined ? {} : { parentID: parent.id }),
  rootID: parent?.rootID ?? SessionID.make("ses_000"),
  depth: parent === undefined ? 0 : parent.depth + 1,
  projectID: "p",
  directory: "/",
  title: `${n}`,
  agent: "build",
  permission: [],
  usage: { own: none, subtree: none },
  version: 1,
  time: { created: 1, updated: 100 - n }
})

const time = { created: 1 }

/** All rows of a session: messages by their number of parts, a run of its parent, its notification, and todos. */
const rowsOf = (info: SessionInfo, n: number, sizes: ReadonlyArray<number>, waiting: number): ReadonlyArray<Write> => {
  const sessionID = info.id
  const asked = MessageID.make(`msg_${n}x0`)
  const part = (m: number, p: number) => PartID.make(`prt_${n}x${m}x${p}`)
  const usage = { ...none, steps: n }
  const runID = RunID.make(`run_${99 - n}`)
  return [
    {
      _tag: "Session",
      info: sizes.length === 0 ? info : { ...info, summary: { text: "s", files: [], until: asked, time: 1 } }
    },
    ...sizes.flatMap((size, m): ReadonlyArray<Write> => {
      const base = { id: MessageID.make(`msg_${n}x${m}`), sessionID, agent: "build" }
      const path = { cwd: "/", root: "/" }
      return [
        {
          _tag: "Message",
          info: m % 2 === 0
            ? { ...base, role: "user", time }
            : { ...base, role: "assistant", parentID: asked, providerID: "p", modelID: "m", path, usage, time }
        },
        ...Array.from({ length: size }, (_, p): Write => ({
          _tag: "Part",
          part: { id: part(m, p), sessionID, messageID: base.id, type: "text", text: `${n} ${m} ${p}` }
        }))
      ]
    }),
    ...Array.from({ length: waiting }, (_, i): Write => ({
      _tag: "Inbox",
      row: {
        id: MessageID.make(`msg_${n}y${i}`),
        sessionID,
        kind: "note",
        parts: [{ type: "text", text: `${i}` }],
        time
      }
    })),
    { _tag: "Todos", sessionID, todos: waiting === 0 ? [] : [{ content: `${n}`, status: "pending", priority: "low" }] },
    ...(info.parentID === undefined ? [] : [
      {
        _tag: "Run",
        run: {
          id: runID,
          taskID: sessionID,
          parentID: info.parentID,
          rootID: info.rootID,
          partID: PartID.make("prt_0x0x0"),
          agent: "build",
          description: `${n}`,
          prompt: "p",
          background: false,
          state: "settled",
          outcome: { status: "completed", taskID: sessionID, runID, text: "t", usage, durationMs: n },
          time
        }
      },
      {
        _tag: "Inbox",
        row: { id: MessageID.make(`msg_${n}z`), sessionID: info.parentID, kind: "notification", runID, parts: [], time }
      }
    ] satisfies ReadonlyArray<Write>)
  ]
}

/** A tree: each session has an earlier one as parent, some messages with some parts, and an inbox row. */
const anyTree = FastCheck.array(
  FastCheck.tuple(
    FastCheck.nat(20),
    FastCheck.array(FastCheck.nat(3), { maxLength: 4 }),
    FastCheck.nat(2)
  ),
  { minLength: 1, maxLength: 7 }
).map((rows) => {
  const infos: Array<SessionInfo> = []
  return rows.flatMap(([parent, sizes, waiting], n) => {
    const info = infoOf(n, infos.length === 0 ? undefined : infos[parent % infos.length])
    infos.push(info)
    return rowsOf(info, n, sizes, waiting)
  })
})

it("any tree is equal up to its ids after an import as a copy, and all that waits in it is a note", async () => {
  const roundTrip = (writes: ReadonlyArray<Write>) =>
    Effect.gen(function*() {
      const storage = yield* SessionStorage
      yield* storage.commit(writes)
      const first = yield* exported(SessionID.make("ses_000"))
      const copy = yield* importText(first.text, { copy: true })
      const second = yield* exported(copy.id)
      const before = everyID(first.text)
      const asNotes = first.value.sessions.map((each) => ({
        ...each,
        inbox: each.inbox.map((row) => ({ ...row, kind: "note" }))
      }))
      expect([...everyID(second.text)].filter((id) => before.has(id))).toEqual([])
      expect(upToIDs({ ...second.value, exported: 0 })).toBe(
        upToIDs({ ...first.value, sessions: asNotes, exported: 0 })
      )
    }).pipe(Effect.provide(empty))
  await FastCheck.assert(FastCheck.asyncProperty(anyTree, (writes) => Effect.runPromise(roundTrip(writes))), {
    numRuns: 60
  })
})

it.effect("a prompt that waits in an archive is not answered until its session is prompted here", () =>
  Effect.gen(function*() {
    const storage = yield* SessionStorage
    const top = infoOf(0, undefined)
    const row = { id: MessageID.make("msg_0w"), sessionID: top.id, kind: "prompt", parts: [], time } as const
    yield* storage.commit([...rowsOf(top, 0, [1], 0), { _tag: "Inbox", row }])
    expect(yield* storage.unfinished).toEqual([top.id])
    const copy = yield* importText((yield* exported(top.id)).text, { copy: true })
    expect((yield* storage.inbox(copy.id)).rows).toHaveLength(1)
    expect(yield* storage.unfinished).toEqual([top.id])
  }).pipe(Effect.provide(empty)))

describe("an invalid archive", () => {
  const good = Effect.gen(function*() {
    const storage = yield* SessionStorage
    const top = infoOf(0, undefined)
    yield* storage.commit([...rowsOf(top, 0, [2, 1], 1), ...rowsOf(infoOf(1, top), 1, [1], 0)])
    return yield* exported(top.id)
  }).pipe(Effect.provide(empty))

  it.effect("is refused with the place of the fault, and nothing of it is stored", () =>
    Effect.gen(function*() {
      const { text } = yield* good
      const cases: ReadonlyArray<readonly [change: (text: string) => string, reason: string, says: RegExp]> = [
        [() => "", "not_json", /empty/],
        [() => "hello", "not_json", /not JSON/],
        [(whole) => whole.slice(0, -20), "not_json", /cut off/],
        [() => "[]", "foreign", /no archive of Skein/],
        [() => "null", "foreign", /no archive of Skein/],
        [(whole) => whole.replace("\"version\":1", "\"version\":2"), "newer", /version 2.*newer Skein/],
        [(whole) => whole.replace("\"version\":1", "\"version\":\"1\""), "invalid", /at \$\.version, /],
        [(whole) => whole.replace("\"title\":\"1\"", "\"title\":1"), "invalid", /at \$\.sessions\[1\]\.info\.title, /],
        [
          (whole) => whole.replace("0 0 1\"", "\",\"type\":\"x\""),
          "invalid",
          /at \$\.sessions\[0\]\.messages\[0\]\.parts\[1\]/
        ],
        [(whole) => whole.replace("\"depth\":1", "\"depth\":2"), "invalid", /at \$\.sessions\[1\]\.info\.depth, /],
        [
          (whole) => whole.replace("\"parentID\":\"ses_000\"", "\"parentID\":\"ses_777\""),
          "invalid",
          /at \$\.sessions\[1\]\.info\.parentID, /
        ],
        [
          (whole) =>
            whole.replace(
              "\"id\":\"msg_0x1\",\"sessionID\":\"ses_000\"",
              "\"id\":\"msg_0x1\",\"sessionID\":\"ses_001\""
            ),
          "invalid",
          /at \$\.sessions\[0\]\.messages\[1\]\.info\.sessionID, /
        ],
        [(whole) => whole.replaceAll("prt_0x0x1", "prt_0x0x0"), "invalid", /parts\[1\]\.id, ids have to ascend/],
        [
          (whole) => whole.replace("\"taskID\":\"ses_001\"", "\"taskID\":\"ses_777\""),
          "invalid",
          /at \$\.runs\[0\]\.taskID, /
        ]
      ]
      yield* Effect.gen(function*() {
        const storage = yield* SessionStorage
        for (const [change, reason, says] of cases) {
          expect(change(text), String(says)).not.toBe(text)
          const error = yield* refused(change(text))
          expect(error).toMatchObject({ _tag: "ArchiveInvalid", reason, message: expect.stringMatching(says) })
          expect((yield* storage.sessions({})).rows).toEqual([])
        }
        yield* importText(text)
        expect((yield* storage.sessions({})).rows).toHaveLength(2)
      }).pipe(Effect.provide(empty))
    }))

  it.effect("cannot overwrite a run of another tree, nor suppress its notification", () =>
    Effect.gen(function*() {
      const { text } = yield* good
      const other = text.replaceAll("ses_00", "ses_10")
      yield* Effect.gen(function*() {
        const storage = yield* SessionStorage
        yield* importText(text)
        const before = yield* exported(SessionID.make("ses_000"))
        expect(yield* refused(other)).toMatchObject({ reason: "exists", message: expect.stringContaining("run_98") })
        // The same notification of a run that the archive does not have: only its text is imported.
        const value = JSON.parse(other) as Archive
        yield* importText(JSON.stringify({ ...value, runs: [] }))
        const { rows: [, news] } = yield* storage.inbox(SessionID.make("ses_100"))
        expect(news).toMatchObject({ kind: "note" })
        expect(news).not.toHaveProperty("runID")
        expect((yield* exported(SessionID.make("ses_000"))).value.sessions).toEqual(before.value.sessions)
      }).pipe(Effect.provide(empty))
    }))

  it.effect("may have fields that a later version has added, and keeps them", () =>
    Effect.gen(function*() {
      const { text } = yield* good
      yield* Effect.gen(function*() {
        yield* importText(text.replace("\"title\":\"1\"", "\"title\":\"1\",\"later\":7"))
        const { value } = yield* exported(SessionID.make("ses_000"))
        expect(value.sessions[1]?.info).toMatchObject({ later: 7 })
      }).pipe(Effect.provide(empty))
    }))
})
