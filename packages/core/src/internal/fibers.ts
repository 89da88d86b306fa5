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

/** Calls back once at this time, in milliseconds of `MonotonicClock.elapsed`; returns a function that cancels it. */
export type Alarm = (at: number, ring: () => void) => () => void

/** Makes alarms that end with the scope. */
export const makeAlarms: Effect.Effect<{ readonly set: Alarm }, never, Scope.Scope> = Effect.gen(function*() {
  const clock = yield* Effect.clock
  const fork = yield* FiberSet.makeRuntime<never>()
  const due = new Map<() => void, number>()
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
        ring()
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
 * Calls `begin` before an effect, and `end` after it, however it ended; then runs `after`. `Effect.acquireUseRelease` is
 * not used, because it keeps much more while the effect waits.
 */
export const bracketed = <A, E, R>(
  begin: () => void,
  effect: Effect.Effect<A, E, R>,
  end: () => void,
  after: Effect.Effect<void> = Effect.void
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => {
      begin()
      const ended = (exit: Effect.Effect<A, E>): Effect.Effect<A, E> => {
        end()
        return after === Effect.void ? exit : Effect.zipRight(restore(after), exit)
      }
      return Effect.matchCauseEffect(restore(effect), {
        onFailure: (cause) => ended(Effect.failCause(cause)),
        onSuccess: (value) => ended(Effect.succeed(value))
      })
    })
  )

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

/** The rest of an effect that waits without a fiber. */
export interface Rest<A, E, R> {
  /** Calls back once the rest can continue, which may be at once. */
  readonly onReady: (ring: () => void) => void
  /**
   * Continues in a new fiber, which is uninterruptible where the effect does not say otherwise. If all are interrupted, it
   * begins before it is ready, and is interrupted: so it ends as if it had waited in a fiber.
   */
  readonly effect: Effect.Effect<A, E, R>
}

/** Ends the fiber of an effect: its rest decides how it ends, and not how the fiber does. */
export type Leave<A, E, R> = (rest: Rest<A, E, R>) => void

/** The effects, and what each of them does now. */
class Effects<A, E, R> {
  readonly #exits: Array<Exit.Exit<A, E>>
  readonly #fibers = new Set<Fiber.RuntimeFiber<Exit.Exit<A, E>>>()
  readonly #rests = new Map<number, Rest<A, E, R>>()
  #ready: Array<number> = []
  #open: number
  #hasFailed = false
  #isClosed = false
  #wake: (() => void) | undefined

  constructor(count: number) {
    this.#exits = Array.from({ length: count })
    this.#open = count
  }

  /** Whether all have ended, or one of them with a failure. */
  get isDecided(): boolean {
    return this.#open === 0 || this.#hasFailed
  }

  /** Their results, once all have ended. */
  get results(): Exit.Exit<Array<A>, E> {
    return Option.getOrElse(Exit.all(this.#exits, { parallel: true }), () => Exit.succeed([]))
  }

  /** Runs an effect in a fiber. */
  fork(at: number, effect: Effect.Effect<A, E, R>): Effect.Effect<void, never, R> {
    // As an exit, its failure is not logged as unhandled.
    return Effect.map(Effect.fork(Effect.exit(effect)), (fiber) => {
      this.#fibers.add(fiber)
      fiber.addObserver((exit) => {
        this.#fibers.delete(fiber)
        this.#fiberEnded(at, Exit.flatten(exit))
      })
    })
  }

  leave(at: number, rest: Rest<A, E, R>): void {
    this.#rests.set(at, rest)
  }

  #fiberEnded(at: number, exit: Exit.Exit<A, E>): void {
    const rest = this.#rests.get(at)
    if (rest === undefined) {
      this.#exits[at] = exit
      this.#open--
      if (Exit.isFailure(exit)) this.#hasFailed = true
      this.#wake?.()
    } else if (!this.#isClosed) {
      rest.onReady(() => {
        this.#ready.push(at)
        this.#wake?.()
      })
    }
  }

  /** Waits until an effect has ended, or can continue. */
  readonly news: Effect.Effect<void> = Effect.async((resume) => {
    this.#wake = () => resume(Effect.void)
    if (this.isDecided || this.#ready.length > 0) this.#wake()
  })

  /** Continues those that can. */
  readonly continueReady: Effect.Effect<void, never, R> = Effect.suspend(() => {
    const ready = this.#ready
    this.#ready = []
    return this.#continue(ready)
  })

  #continue(some: Iterable<number>): Effect.Effect<void, never, R> {
    return Effect.forEach(some, (at) => {
      const rest = this.#rests.get(at)
      this.#rests.delete(at)
      return rest === undefined ? Effect.void : this.fork(at, rest.effect)
    }, { discard: true })
  }

  /** Interrupts all that have not ended, and waits for their ends. */
  readonly close: Effect.Effect<void, never, R> = Effect.suspend(() => {
    this.#isClosed = true
    if (this.#fibers.size === 0 && this.#rests.size === 0) return Effect.void
    return Effect.zipRight(
      this.#continue([...this.#rests.keys()]),
      // An interrupted fiber may have left before it noticed.
      Effect.suspend(() => Effect.zipRight(Fiber.interruptAll([...this.#fibers]), this.close))
    )
  })
}

/**
 * Runs all of them at the same time, and returns their results in order. The first failure, or an interruption,
 * interrupts the others and waits for them to end. `Effect.forEach` does the same, with a fiber for each until its end.
 */
export const allOf = <I, A, E, R>(
  inputs: ReadonlyArray<I>,
  body: (input: I, leave: Leave<A, E, R>) => Effect.Effect<A, E, R>
): Effect.Effect<Array<A>, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => {
      const all = new Effects<A, E, R>(inputs.length)
      const begin = Effect.forEach(
        inputs,
        (input, at) => all.fork(at, restore(body(input, (rest) => all.leave(at, rest)))),
        { discard: true }
      )
      const watch: Effect.Effect<void, never, R> = Effect.suspend(() =>
        all.isDecided
          ? Effect.void
          : Effect.zipRight(Effect.zipRight(restore(all.news), all.continueReady), watch)
      )
      return begin.pipe(
        Effect.zipRight(watch),
        Effect.ensuring(all.close),
        Effect.zipRight(Effect.suspend(() => all.results))
      )
    })
  )
