/** Primitives of our own, where those of Effect cost more, or end later: each says why. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { RuntimeFiber } from "effect/Fiber"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as FiberSet from "effect/FiberSet"
import { unsafeCoerce } from "effect/Function"
import * as Option from "effect/Option"
import * as Scheduler from "effect/Scheduler"
import type * as Scope from "effect/Scope"
import { elapsed, isReal } from "../MonotonicClock.ts"

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

/**
 * Calls back once at this time, in milliseconds of `MonotonicClock.elapsed`, and runs the effect that it gets; returns a
 * function that cancels it.
 */
export type Alarm = (at: number, ring: () => Effect.Effect<void> | undefined) => () => void

/** Makes alarms that end with the scope. */
export const makeAlarms: Effect.Effect<{ readonly set: Alarm }, never, Scope.Scope> = Effect.gen(function*() {
  const clock = yield* Effect.clock
  const fork = yield* FiberSet.makeRuntime<never>()
  const due = new Map<() => Effect.Effect<void> | undefined, number>()
  let next = Number.POSITIVE_INFINITY
  let sleeper: Fiber.RuntimeFiber<void> | undefined

  const sleepUntil = (at: number): void => {
    const before = sleeper
    next = at
    const rest = Effect.suspend(() => Effect.sleep(Math.max(0, at - elapsed(clock))))
    sleeper = Number.isFinite(at) ? fork(Effect.zipRight(rest, Effect.sync(wake))) : undefined
    if (before !== undefined) fork(Effect.asVoid(Fiber.interrupt(before)))
  }

  const wake = (): void => {
    const now = elapsed(clock)
    sleeper = undefined
    let nearest = Number.POSITIVE_INFINITY
    for (const [ring, at] of due) {
      if (at > now) nearest = Math.min(nearest, at)
      else {
        due.delete(ring)
        const effect = ring()
        if (effect !== undefined) fork(effect)
      }
    }
    sleepUntil(nearest)
  }

  return {
    set: (at, ring) => {
      due.set(ring, at)
      if (at < next) sleepUntil(at)
      // The sleeping fiber is not interrupted: an extra wake-up costs less.
      return () => void due.delete(ring)
    }
  }
})

/** Forks fibers that are awaited: the awaiting code reports their errors, with what failed. */
export const forkAwaited = <A, E, R>(fork: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withUnhandledErrorLogLevel(fork, Option.none())

/**
 * Runs both at the same time and ends as the first of them does. Interrupts the other, or both if it is interrupted
 * itself, and waits for them to end. (`Effect.raceFirst` only waits for that at the end of the fiber, which may run on
 * until then.)
 */
export const firstOf = <A, E, R, A2, E2, R2>(
  one: Effect.Effect<A, E, R>,
  other: Effect.Effect<A2, E2, R2>
): Effect.Effect<A | A2, E | E2, R | R2> =>
  Effect.uninterruptibleMask((restore) =>
    // As exits, their failures are not logged as unhandled.
    Effect.flatMap(Effect.fork(restore(Effect.exit(one))), (left) =>
      Effect.flatMap(Effect.fork(restore(Effect.exit(other))), (right) =>
        restore(
          Effect.async<Exit.Exit<A | A2, E | E2>>((resume) => {
            const end = (exit: Exit.Exit<A | A2, E | E2>) => resume(Effect.succeed(exit))
            left.addObserver((exit) => end(Exit.flatten(exit)))
            right.addObserver((exit) => end(Exit.flatten(exit)))
          })
        ).pipe(
          Effect.ensuring(Effect.suspend(() => {
            // Interrupting a fiber that has ended is not free either.
            const both: ReadonlyArray<Fiber.RuntimeFiber<unknown>> = [left, right]
            const [first, second] = both.filter((fiber) => fiber.unsafePoll() === null)
            if (first === undefined) return Effect.void
            return Effect.asVoid(second === undefined ? Fiber.interrupt(first) : Fiber.interruptAll([first, second]))
          })),
          Effect.flatten
        )))
  )

/**
 * Provides effects with these services, as `Effect.provide` does. That copies all services each time; here, fibers with
 * the same services share a copy, which matters where thousands of them wait.
 */
export const providing = <S>(services: Context.Context<S>) => {
  const copies = new WeakMap<Context.Context<never>, Context.Context<S>>()
  const over = (own: Context.Context<never>): Context.Context<S> => {
    const known = copies.get(own)
    if (known !== undefined) return known
    const copy = Context.merge(own, services)
    copies.set(own, copy)
    return copy
  }
  return <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, S>> =>
    Effect.mapInputContext(
      effect,
      // What the effect needs besides these services, it finds in those of its fiber.
      (own: Context.Context<Exclude<R, S>>) => unsafeCoerce<Context.Context<S>, Context.Context<R>>(over(own))
    )
}
