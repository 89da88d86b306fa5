/** Compares a storage with the one in memory, after any sequence of commits. */
import { expect } from "@effect/vitest"
import { SessionStorage, type Write } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import { EventID, MessageID, PartID, RunID, SessionID } from "@skein/domain/Id"
import { none } from "@skein/domain/Usage"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

type Storage = typeof SessionStorage.Service

// Few names, so that writes collide: four trees of three sessions, each below the one before.
const trees = ["a", "b", "c", "d"] as const
const names = trees.flatMap((tree) => [tree, `${tree}x`, `${tree}xx`])
const parentOf = (name: string) => name.slice(0, -1)
const rootOf = (name: string) => name.slice(0, 1)
const ses = (name: string) => SessionID.make(`ses_${name}`)
const time = { created: 1 }

/** One write of each kind about a session, with a number that distinguishes rows and their versions. */
const writeOf = (kind: number, name: string, of: number, version: number): Write => {
  const sessionID = ses(name)
  const messageID = MessageID.make(`msg_${of}`)
  const part = {
    id: PartID.make(`prt_${of}x${version % 3}`),
    sessionID,
    messageID,
    type: "text",
    text: `${version}`
  } as const
  const event = { timestamp: 1, sessionID, rootID: ses(rootOf(name)), depth: 0 }
  const run = {
    id: RunID.make(`run_${name}${of}`),
    taskID: sessionID,
    parentID: sessionID,
    rootID: event.rootID,
    agent: "explore",
    description: `${version}`,
    prompt: "look",
    background: false,
    state: version % 2 === 0 ? "running" : "settled",
    time
  } as const
  const info = {
    id: sessionID,
    ...(name.length === 1 ? {} : { parentID: ses(parentOf(name)) }),
    rootID: event.rootID,
    depth: name.length - 1,
    projectID: "project",
    directory: "/",
    title: `${version}`,
    agent: "build",
    permission: [],
    usage: { own: none, subtree: none },
    version: 1,
    time: { ...time, updated: version }
  }
  const message = { id: messageID, sessionID, role: "user", agent: `${version}`, time } as const
  const lease = { rootID: event.rootID, owner: version % 2 === 0 ? "one" : "two", epoch: 1 + (version % 3) }
  const found = { owner: of === 0 ? undefined : "one", epoch: version % 3, until: 0, left: 0 }
  const inboxID = MessageID.make(`msg_${name}${of}`)
  const writes: ReadonlyArray<Write> = [
    { _tag: "Session", info },
    { _tag: "Message", info: message },
    { _tag: "Part", part },
    { _tag: "RemovePart", id: part.id, sessionID },
    { _tag: "Run", run },
    {
      _tag: "Inbox",
      row: { id: inboxID, sessionID, kind: "steer", runID: RunID.make(`run_${of}`), parts: [], time }
    },
    { _tag: "InboxTaken", id: inboxID, sessionID, at: 1 },
    { _tag: "Todos", sessionID, todos: [{ content: `${version}`, status: "pending", priority: "low" }] },
    {
      _tag: "Event",
      event: { ...event, id: EventID.make(`evt_${version}`), type: "message.part.updated", properties: { part } }
    },
    {
      _tag: "Event",
      event: { ...event, id: EventID.make(`evt_${version}`), type: "session.updated", properties: { info } }
    },
    { _tag: "DeleteSession", id: sessionID },
    { _tag: "Hold", lease, length: 10_000, found },
    { _tag: "Renew", lease, length: 10_000 },
    { _tag: "Fence", lease },
    { _tag: "Release", lease }
  ]
  return writes[kind % writes.length] ?? { _tag: "Session", info }
}

/** A commit to one tree. Commits to different trees still collide if they report the same run. */
const anyCommit = (tree: string) =>
  FastCheck.array(
    FastCheck.tuple(FastCheck.nat(14), FastCheck.nat(2), FastCheck.nat(1), FastCheck.nat(20)).map((
      [kind, depth, of, version]
    ) => writeOf(kind, tree + "x".repeat(depth), of, version)),
    { maxLength: 6 }
  )

/** Concurrent commits, as by four sessions of which each waits for its own. */
const anyBatch = FastCheck.tuple(...trees.map(anyCommit))

/** Everything that can be read. Positions in the log differ between backends if a refused commit used numbers. */
const everything = (storage: Storage) =>
  Effect.all({
    sessions: storage.sessions({}),
    runs: storage.runs({}),
    leases: Effect.forEach(trees, (name) =>
      // Each backend has its own clock.
      Effect.map(storage.lease(ses(name)), Option.map(({ epoch, owner }) => ({ epoch, owner })))),
    unsettled: storage.runs({ rootID: ses("a"), unsettled: true }),
    events: Effect.map(storage.events({ after: 0 }), (found) => found.map((logged) => logged.event)),
    each: Effect.forEach(names, (name) =>
      Effect.all([storage.messages(ses(name)), storage.inbox(ses(name)), storage.todos(ses(name))]))
  })

/** Fails if the content differs after any of `numRuns` sequences of commits, each on a new storage. */
export const agreesWithMemory = (
  layer: () => Layer.Layer<SessionStorage, StorageError>,
  numRuns: number
): Effect.Effect<void> => {
  const start: ReadonlyArray<Write> = names.map((name) => writeOf(0, name, 0, 0))
  const agree = (batches: ReadonlyArray<ReadonlyArray<ReadonlyArray<Write>>>) =>
    Effect.gen(function*() {
      const memory = yield* Layer.build(Layer.fresh(SessionStorage.layerMemory))
      const other = yield* Layer.build(layer())
      for (const batch of [[start], ...batches]) {
        const after = Effect.gen(function*() {
          const storage = yield* SessionStorage
          const results = yield* Effect.forEach(batch, (writes) => Effect.either(storage.commit(writes)), {
            concurrency: "unbounded"
          })
          return { refused: results.map(Either.isLeft), found: yield* everything(storage) }
        })
        expect(yield* Effect.provide(after, other)).toEqual(yield* Effect.provide(after, memory))
      }
    }).pipe(Effect.scoped)
  return Effect.promise(() =>
    FastCheck.assert(
      FastCheck.asyncProperty(
        FastCheck.array(anyBatch, { minLength: 1, maxLength: 4 }),
        (batches) => Effect.runPromise(agree(batches))
      ),
      { numRuns }
    )
  )
}
