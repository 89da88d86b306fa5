import { expect, it } from "@effect/vitest"
import { Bus } from "@skein/core/Bus"
import { Journal } from "@skein/core/Journal"
import { Ids, SessionID } from "@skein/domain/Id"
import * as Workspace from "@skein/testing/Workspace"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scheduler from "effect/Scheduler"
import * as Sqlite from "../src/Sqlite.ts"
import { sessionOf } from "./support/rows.ts"

const layer = Layer.unwrapScoped(Effect.map(Workspace.make(), ({ directory }) =>
  Journal.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(Sqlite.layer({ filename: `${directory}/skein.db` }), Bus.layer, Ids.layer))
  )))

const info = sessionOf(SessionID.make("ses_a"), "a")

/** A scheduler that runs nothing until it is released. */
const heldScheduler = () => {
  let held: Array<Scheduler.Task> | undefined = []
  const scheduler: Scheduler.Scheduler = {
    shouldYield: () => false,
    scheduleTask: (task) => held === undefined ? queueMicrotask(task) : void held.push(task)
  }
  const release = Effect.sync(() => {
    for (const task of held ?? []) queueMicrotask(task)
    held = undefined
  })
  return { scheduler, release }
}

/** A stored tree, its later published events, and a fiber that continues late after its commit. */
const setUp = Effect.gen(function*() {
  const journal = yield* Journal
  const { release, scheduler } = heldScheduler()
  const seqs: Array<number | undefined> = []
  yield* journal.commit([{ _tag: "Session", info, isNew: true }])
  yield* (yield* Bus).listen({ rootID: info.id }, ({ seq }) => seqs.push(seq))
  const put = (title: string) => journal.commit([{ _tag: "Session", info: { ...info, title } }])
  const putAll = (titles: ReadonlyArray<string>) => titles.map((title) => Effect.runFork(put(title)))
  /** Ends when the storage has answered all commits so far, and all fibers but the late one have continued. */
  const answered = journal.commit([{ _tag: "Session", info: sessionOf(SessionID.make("ses_b"), "b"), isNew: true }])
  return {
    answered,
    /** Commits in fibers that start immediately. */
    putAll,
    release,
    seqs,
    /** Commits in a fiber that starts immediately and continues when it is released. */
    late: (session = info) => Effect.runFork(journal.commit([{ _tag: "Session", info: session }]), { scheduler })
  }
})

it.scoped("publishes the events of a tree in the order of their numbers, however late a fiber continues", () =>
  Effect.gen(function*() {
    const { answered, late, putAll, release, seqs } = yield* setUp
    const slow = late()
    const others = putAll(["b", "c"])
    yield* answered
    // It waits for no fiber: what is stored is published.
    expect(seqs).toEqual([2, 3, 4])
    yield* release
    expect(yield* Fiber.join(slow)).toEqual({ seq: 2 })
    expect(yield* Effect.forEach(others, Fiber.join)).toEqual([{ seq: 3 }, { seq: 4 }])
    expect(seqs).toEqual([2, 3, 4])
  }).pipe(Effect.provide(layer)))

it.scoped("publishes in order even if a caller is interrupted", () =>
  Effect.gen(function*() {
    const { answered, late, putAll, release, seqs } = yield* setUp
    const slow = late()
    const others = putAll(["b"])
    yield* Fiber.interruptFork(slow)
    for (const other of others) yield* Fiber.interruptFork(other)
    yield* answered
    yield* release
    yield* Fiber.await(slow)
    yield* Fiber.awaitAll(others)
    expect(seqs).toEqual([2, 3])
  }).pipe(Effect.provide(layer)))

it.scoped("does not wait for a commit that was refused", () =>
  Effect.gen(function*() {
    const { answered, late, putAll, release, seqs } = yield* setUp
    const orphan = { rootID: info.id, parentID: SessionID.make("ses_stranger") }
    const slow = late(sessionOf(SessionID.make("ses_c"), "c", orphan))
    const others = putAll(["b", "c"])
    yield* answered
    expect(yield* Effect.forEach(others, Fiber.join)).toEqual([{ seq: 2 }, { seq: 3 }])
    expect(seqs).toEqual([2, 3])
    yield* release
    expect(Exit.isFailure(yield* Fiber.await(slow))).toBe(true)
  }).pipe(Effect.provide(layer)))
