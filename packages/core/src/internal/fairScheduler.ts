/** Shares the thread with everything else in the process, even if a thousand agents end a step at the same moment. */
import * as Effect from "effect/Effect"
import type { RuntimeFiber } from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Scheduler from "effect/Scheduler"
import { isReal } from "../MonotonicClock.ts"

// Captured at load, so that a test that replaces the timers does not stop the scheduler.
const { performance: stopwatch, setTimeout: soon } = globalThis

/** How long fibers run before timers, sockets and signals get their turn, in milliseconds. */
const slice = 8

/** Like Effect's own scheduler, it runs tasks in order; but that one continues until no task is left. */
class FairScheduler implements Scheduler.Scheduler {
  private readonly due = new Scheduler.PriorityBuckets()
  private present: ReadonlyArray<Scheduler.Task> = []
  private at = 0
  private isRunning = false

  shouldYield(fiber: RuntimeFiber<unknown, unknown>): number | false {
    return Scheduler.defaultScheduler.shouldYield(fiber)
  }

  scheduleTask(task: Scheduler.Task, priority: number): void {
    this.due.scheduleTask(task, priority)
    if (this.isRunning) return
    this.isRunning = true
    queueMicrotask(this.run)
  }

  private readonly run = (): void => {
    const end = stopwatch.now() + slice
    for (;;) {
      if (this.at === this.present.length && !this.takeDue()) return
      this.present[this.at++]?.()
      if (stopwatch.now() < end) continue
      soon(this.run, 0)
      return
    }
  }

  /** Takes the tasks that are due, most urgent first; returns whether there are any. */
  private takeDue(): boolean {
    this.present = this.due.buckets.flatMap(([, tasks]) => tasks)
    this.due.buckets = []
    this.at = 0
    this.isRunning = this.present.length > 0
    return this.isRunning
  }
}

const fair = new FairScheduler()

/** Runs the fibers of an effect in slices, unless the caller chose a scheduler, or controls the time. */
export const inSlices = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.zipWith(
    FiberRef.get(FiberRef.currentScheduler),
    Effect.clock,
    (present, clock) => present === Scheduler.defaultScheduler && isReal(clock)
  ).pipe(Effect.flatMap((isFree) => isFree ? Effect.withScheduler(effect, fair) : effect))
