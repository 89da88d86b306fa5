/** Stops what runs in a session and in everything below it. */
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Journal } from "../../Journal.ts"
import type { Entry } from "../../Write.ts"
import { beginTasks, endTasks } from "./endTasks.ts"
import type { Live, RunningTask } from "./Live.ts"
import { recordStop } from "./recordStop.ts"
import type { Running } from "./RunState.ts"
import { SessionTable } from "./SessionTable.ts"

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
  const { running } = live
  live.run.countHalt()
  for (const child of table.below(live.info.id)) {
    child.run.countStop(by)
    mark(child, table, marked, by)
  }
  marked.push({ live, running, sideFibers: live.run.sideFibers, tasks: live.tasks.running })
  return marked
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
    yield* recordStop(live, also)
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
