/** Stops what runs in a session and in everything below it, and stores that before anything stops. */
import type { RunID, SessionID } from "@skein/domain/Id"
import { isInert } from "@skein/domain/InboxRow"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import { logUnstored } from "../../StorageError.ts"
import { Workspaces } from "../../Workspaces.ts"
import type { Entry } from "../../Write.ts"
import { beginTasks, endTasks, type Live, type RunningTask } from "./Live.ts"
import type { Running } from "./RunState.ts"
import { SessionTable } from "./SessionTable.ts"

/** How long storing may delay a stop. */
const timeLimit = "500 millis"

/** Stores something before a stop, but does not wait long for slow storage. */
export const storeFirst = (live: Live, writes: ReadonlyArray<Entry>): Effect.Effect<void, never, Journal> =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const storing = Effect.catchAll(journal.commit(writes), logUnstored("A stop could not be stored"))
    // The stopping fiber may be interrupted itself, and then cannot time out on its own.
    const over = yield* Deferred.make<void>()
    const end = () => Deferred.unsafeDone(over, Exit.void)
    const fiber = yield* Effect.forkIn(storing, live.scope)
    const timer = yield* Effect.forkIn(Effect.interruptible(Effect.sleep(timeLimit)), live.scope)
    fiber.addObserver(end)
    timer.addObserver(end)
    yield* Deferred.await(over)
    yield* Fiber.interruptFork(timer)
  })

type Table = Context.Tag.Service<SessionTable>

/** A session that is being stopped, with the fibers that ran when it was marked. Later fibers are unaffected. */
interface Marked {
  readonly live: Live
  readonly running: Running | undefined
  readonly sideFibers: ReadonlyArray<Fiber.Fiber<unknown, unknown>>
  readonly tasks: ReadonlyArray<RunningTask>
}

/** Marks a session and all below it, in one moment: later requests find that it was stopped. */
const mark = (live: Live, table: Table, marked: Array<Marked>, by: string | undefined): ReadonlyArray<Marked> => {
  for (const child of table.below(live.info.id)) {
    child.run.countStop(by)
    mark(child, table, marked, by)
  }
  marked.push({ live, running: live.running, sideFibers: [...live.run.sideFibers], tasks: live.tasks.running })
  return marked
}

/** Whether a session works, or is asked to, and no stop has come since that began. */
const isAtWork = ({ live, running, tasks }: Marked): boolean => {
  const { all } = live.stops
  return live.run.submitting + live.tasks.storing > 0
    || (running !== undefined && !isInert(running, all))
    || tasks.some(({ row }) => !isInert(row, all))
}

/** What the turn has started so far, or had started when it was marked, if another turn has replaced it. */
const tasksOf = ({ live, running, tasks }: Marked): ReadonlyArray<RunningTask> =>
  live.running === running ? live.tasks.running : tasks.filter((task) => live.tasks.running.includes(task))

/** Stops a session and all below it: stores that, interrupts all, and awaits all. */
export const halt = (
  live: Live,
  stoppedBy?: string,
  also: ReadonlyArray<Entry> = []
): Effect.Effect<void, never, Journal | SessionTable> =>
  Effect.gen(function*() {
    const table = yield* SessionTable
    const by = yield* Effect.fiberId
    const marked = mark(live, table, [], stoppedBy)
    // Once for a tree: everything below is included.
    if (marked.some(isAtWork)) yield* storeFirst(live, [live.record.annotate(live.record.stopped), ...also])
    const fibers: Array<Fiber.Fiber<unknown, unknown>> = []
    for (const each of marked.toReversed()) {
      const own = each.running === undefined ? [] : [yield* Deferred.await(each.running.fiber)]
      for (const fiber of [...each.sideFibers, ...own]) {
        fibers.push(fiber)
        yield* Fiber.interruptAsFork(fiber, by)
      }
      yield* beginTasks(tasksOf(each))
    }
    for (const fiber of fibers.toReversed()) yield* Fiber.await(fiber)
    for (const each of marked) yield* endTasks(tasksOf(each))
  })

/** Stops a session and all below it, and keeps earlier requests that have not begun from beginning. */
export const stop = (live: Live, by?: string): Effect.Effect<void, never, Journal | SessionTable> =>
  Effect.suspend(() => {
    live.run.countStop(by)
    // A message to a task that ends early starts its next run, but not after a stop of its session.
    const notes = live.inbox.makeNotesOfMessages()
    return halt(live, by, notes.map((row) => ({ _tag: "Inbox", row })))
  })

/** Stops it, deletes it from storage, and forgets it. Meanwhile, lookups no longer find it. */
export const removeSession = (live: Live) =>
  Effect.suspend(() => {
    live.isRemoved = true
    return Effect.zipRight(halt(live), remove(live))
  }).pipe(
    Effect.onError(() =>
      Effect.map(SessionTable, (table) => {
        live.isRemoved = table.peek(live.info.id) !== live
      })
    )
  )

const idsOf = (
  live: Live,
  below: (id: SessionID) => ReadonlyArray<Live>
): readonly [SessionID, ...Array<SessionID>] => [
  live.info.id,
  ...below(live.info.id).flatMap((child) => idsOf(child, below))
]

const remove = Effect.fnUntraced(function*(live: Live) {
  const table = yield* SessionTable
  const journal = yield* Journal
  const leases = yield* Leases
  yield* leases.remove(idsOf(live, table.below), journal.commit([{ _tag: "DeleteSession", info: live.info }]))
  yield* table.close(live.info.id)
  const { id, workspace } = live.info
  if (workspace !== undefined) yield* (yield* Workspaces).forget(id, workspace)
}, Effect.uninterruptible)

const isInUse = (parent: Live, child: Live): boolean =>
  child.tasks.claims > 0 || parent.tasks.running.some((task) => task.live === child)

/** Deletes the sessions of disposable tasks, once their caller has read how these runs ended. */
export const disposeOf = Effect.fnUntraced(function*(live: Live, runs: Iterable<RunID>) {
  const table = yield* SessionTable
  for (const run of runs) {
    const taskID = live.tasks.takeDisposable(run)
    const child = taskID === undefined ? undefined : table.peek(taskID)
    // A session that is being resumed is kept; a deleted one cannot be found from this moment on.
    if (child === undefined || child.isRemoved || isInUse(live, child)) continue
    child.isRemoved = true
    yield* Effect.catchAll(
      removeSession(child),
      (error) => Effect.logWarning("A task's session could not be removed", error.message)
    )
  }
})
