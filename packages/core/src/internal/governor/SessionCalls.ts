/** Owns the calls of a session: where each of them is, and what follows for its slot, its clocks and its budget. */
import type { PartID } from "@skein/domain/Id"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { none as noFiber } from "effect/FiberId"
import * as Option from "effect/Option"
import type { Restore } from "../../Fibers.ts"
import type { Slot } from "../../Slot.ts"
import {
  type CallEvent,
  type CallState,
  hasPlace,
  isAsking,
  isOpen,
  isUnbegun,
  isWaiting,
  noted,
  pending,
  ready,
  transition
} from "./CallState.ts"

/** What depends on the calls of a session. */
interface CallWatch {
  /** The slot that they need. */
  readonly slot: () => Slot
  /** A call begins to wait for a person, or waits for none any more. */
  readonly asks: (is: boolean) => void
  /** A call waits, or has ended: what its session holds may be free. */
  readonly rests: () => void
  /** The time, in milliseconds of `MonotonicClock.elapsed`. */
  readonly now: () => number
  /** How many tasks of the session have settled. */
  readonly settled: () => number
  /** Whether a call waits for a task now. */
  readonly awaitsTask: () => boolean
  /** All calls of the step have waited for tasks. */
  readonly waited: (start: number, end: number) => void
}

/** Waits below this are not stored, in milliseconds. */
export const shortestWait = 100

/** How long all calls of a step wait for tasks. */
class TaskWait {
  /** Since when they do, and how many tasks had settled then. */
  #since: { readonly at: number; readonly settled: number } | undefined
  #last: { readonly start: number; readonly end: number } | undefined

  /** Measures it after each change. */
  measure({ awaitsTask, now, settled, waited }: CallWatch, allWait: boolean, isOver: boolean): void {
    if (allWait) this.#since ??= { at: now(), settled: settled() }
    else if (this.#since !== undefined) {
      const { at, settled: before } = this.#since
      this.#since = undefined
      // Each task that settles ends the wait for a moment.
      if (settled() !== before || awaitsTask()) this.#add(at, now(), waited)
    }
    if (isOver) this.#tell(waited)
  }

  #add(start: number, end: number, waited: CallWatch["waited"]): void {
    const last = this.#last
    const continues = last !== undefined && start - last.end < shortestWait
    if (!continues) this.#tell(waited)
    this.#last = { start: continues ? last.start : start, end }
  }

  #tell(waited: CallWatch["waited"]): void {
    if (this.#last !== undefined) waited(this.#last.start, this.#last.end)
    this.#last = undefined
  }
}

/** A call that waits for a place. */
interface Queued {
  readonly call: Call
  readonly event: CallEvent
  readonly granted: Deferred.Deferred<void>
}

/** One call. Only its session's calls change its state. */
export class Call {
  readonly id: PartID
  /** Whether its turn continues after a crash: a process that has ended may have asked for it, and begun it. */
  readonly isResumed: boolean
  /** What its tool found out when it was authorised. */
  plan: unknown
  readonly #calls: SessionCalls
  readonly #mayHaveBegun: boolean
  #state: CallState

  constructor(calls: SessionCalls, id: PartID, state: CallState, isResumed: boolean) {
    this.#calls = calls
    this.id = id
    this.#state = state
    this.isResumed = isResumed
    this.#mayHaveBegun = state === ready
  }

  /** Where it is. */
  get state(): CallState {
    return this.#state
  }

  /** Whether this process knows that its effect has not begun. */
  get isUnbegun(): boolean {
    return !this.#mayHaveBegun && isUnbegun(this.#state)
  }

  /** Changes the state; false if the event does not count any more. */
  change(event: CallEvent): boolean {
    const before = this.#state
    const after = transition(before, event)
    if (after === undefined) return false
    this.#state = after
    this.#calls.changed(this, before)
    return true
  }

  /** Changes the state once there is a place, if the call then needs one; then takes the slot, if it works. */
  enter(event: CallEvent): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.#calls.enterNow(this, event)
        ? Effect.void
        : Effect.uninterruptibleMask((restore) =>
          Effect.zipRight(this.#calls.admit(this, event, restore), this.#calls.hold(this, restore))
        )
    )
  }

  /** Waits for a person, or for others. A call may wait in several places at once; it works again when it waits in none. */
  waiting<A, E, R>(on: "people" | "others", effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    const again = on === "people" ? "answer" : "continue"
    return Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        this.change(on === "people" ? "ask" : "wait")
        const ended = (exit: Effect.Effect<A, E>): Effect.Effect<A, E> =>
          this.#calls.admit(this, again, restore).pipe(
            Effect.zipRight(this.#calls.hold(this, restore)),
            Effect.zipRight(exit)
          )
        // `acquireUseRelease` keeps much more while the effect waits.
        return Effect.matchCauseEffect(restore(effect), {
          onFailure: (cause) => ended(Effect.failCause(cause)),
          onSuccess: (value) => ended(Effect.succeed(value))
        })
      })
    )
  }
}

/** What a call still has to do, once something it waits for without a fiber has ended. */
export class Rest<A, E, R> {
  /** Calls back once the rest can continue, which may be at once. */
  readonly onReady: (ring: () => void) => void
  /**
   * Continues in a new fiber, which is uninterruptible where the effect does not say otherwise. If all are interrupted, it
   * begins before it is ready, and is interrupted: so it ends as if it had waited in a fiber.
   */
  readonly effect: Effect.Effect<A, E, R>

  constructor(onReady: (ring: () => void) => void, effect: Effect.Effect<A, E, R>) {
    this.onReady = onReady
    this.effect = effect
  }
}

/** The calls of one session. */
export class SessionCalls {
  readonly #watch: CallWatch
  readonly #known = new Map<PartID, Call>()
  // What follows from their states, changed only together with them: a step may have thousands of calls.
  readonly #open = new Set<Call>()
  readonly #working = new Set<Call>()
  readonly #placed = new Set<Call>()
  readonly #queue = new Set<Queued>()
  readonly #taskWait = new TaskWait()
  #places = Number.POSITIVE_INFINITY

  constructor(watch: CallWatch) {
    this.#watch = watch
  }

  /** How many of them are being made. */
  get size(): number {
    return this.#open.size
  }

  /** Whether some are being made, and all of them wait. */
  get allWait(): boolean {
    return this.#open.size > 0 && this.#working.size === 0
  }

  /** Whether all that are being made wait for what another process can find again. */
  get allParked(): boolean {
    return [...this.#open].every(({ state }) => state.at === "parked")
  }

  /** Whether this process knows that the effect of a call has not begun. */
  isUnbegun(id: PartID): boolean {
    return this.#known.get(id)?.isUnbegun ?? false
  }

  /** Notes a call whose intent is stored with its answer. */
  note(id: PartID, plan: unknown): void {
    this.#add(new Call(this, id, noted, false)).plan = plan
  }

  /** The call to make: a noted one, a new one, or one that is stored as running since another process had it. */
  take(id: PartID, isResumed: boolean, isRunning: boolean): Call {
    const known = this.#known.get(id)
    if (known?.change("take") === true) return known
    return this.#add(new Call(this, id, isRunning ? ready : pending, isResumed))
  }

  /** Forgets the calls that nobody makes any more: all of them have a result. */
  forget(): void {
    for (const call of this.#known.values()) if (call.state.at === "noted") this.#known.delete(call.id)
  }

  /** How many may work at once; the others wait for a place. */
  limit(places: number): void {
    this.#places = places
  }

  #add(call: Call): Call {
    this.#known.set(call.id, call)
    this.#index(call)
    return call
  }

  #index(call: Call): void {
    const { state } = call
    keep(this.#open, call, isOpen(state))
    keep(this.#working, call, isOpen(state) && !isWaiting(state))
    keep(this.#placed, call, hasPlace(state))
    if (state.at === "settled") this.#known.delete(call.id)
    this.#taskWait.measure(this.#watch, this.allWait, this.#open.size === 0)
  }

  /** Draws the conclusions from a change. */
  changed(call: Call, before: CallState): void {
    const { state } = call
    this.#index(call)
    if (isAsking(before) !== isAsking(state)) this.#watch.asks(isAsking(state))
    if (isOpen(before) && (isWaiting(state) || !isOpen(state))) {
      if (this.allWait) this.#watch.slot().give()
      this.#watch.rests()
    }
    for (const queued of this.#queue) {
      if (this.#placed.size >= this.#places) return
      this.#queue.delete(queued)
      queued.call.change(queued.event)
      Deferred.unsafeDone(queued.granted, Exit.void)
    }
  }

  #isFull(call: Call, event: CallEvent): boolean {
    const after = transition(call.state, event)
    return after !== undefined && hasPlace(after) && this.#placed.size >= this.#places
  }

  /** Changes the state of a call, unless it has to wait for a place or for the slot. */
  enterNow(call: Call, event: CallEvent): boolean {
    if (!this.#watch.slot().isHeld() || this.#isFull(call, event)) return false
    call.change(event)
    return true
  }

  /** Changes the state of a call, once there is a place if it needs one then. */
  admit(call: Call, event: CallEvent, restore: Restore): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (!this.#isFull(call, event)) {
        call.change(event)
        return Effect.void
      }
      const queued: Queued = { call, event, granted: Deferred.unsafeMake<void>(noFiber) }
      this.#queue.add(queued)
      return Effect.onInterrupt(
        restore(Deferred.await(queued.granted)),
        // It goes on without a place, to its end.
        () => Effect.sync(() => this.#queue.delete(queued) && call.change(event))
      )
    })
  }

  /** Takes the slot for a call that works. */
  hold(call: Call, restore: Restore): Effect.Effect<void> {
    return Effect.suspend(() => {
      const slot = this.#watch.slot()
      return this.#working.has(call) && !slot.isHeld() ? restore(slot.hold) : Effect.void
    })
  }

  /**
   * Makes calls in parallel, and returns their results in order. The first failure, or an interruption, interrupts the
   * others and waits for them to end. `body` is uninterruptible but for what it restores. A call that is not alone may end its
   * fiber with the rest of it, while it is parked.
   */
  make<B, E, R>(
    calls: ReadonlyArray<Call>,
    body: (call: Call, at: number, restore: Restore) => Effect.Effect<B | Rest<B, E, R>, E, R>,
    ended: (call: Call, at: number) => void = () => {}
  ): Effect.Effect<Array<B>, E, R> {
    const made = (call: Call, at: number, effect: Effect.Effect<B | Rest<B, E, R>, E, R>) =>
      Effect.onExit(effect, (exit) =>
        Effect.sync(() => {
          if (Exit.isSuccess(exit) && exit.value instanceof Rest) return
          call.change("close")
          ended(call, at)
        }))
    return Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() => {
        const all = new Making<B, E, R>(calls.length, (at, effect) => made(calls[at] as Call, at, effect))
        const one = calls.length === 1 ? calls[0] : undefined
        const making = one === undefined
          ? Effect.zipRight(
            Effect.forEach(calls, (call, at) => all.fork(at, body(call, at, restore)), { discard: true }),
            all.end(restore)
          )
          : Effect.map(made(one, 0, body(one, 0, restore)), (value) => [value as B])
        return making.pipe(
          Effect.ensuring(Effect.sync(() => calls.forEach((call) => call.change("close")))),
          Effect.zipLeft(restore(Effect.suspend(() => this.#watch.slot().hold)))
        )
      })
    )
  }
}

const keep = <A>(all: Set<A>, one: A, is: boolean): void => {
  if (is) all.add(one)
  else all.delete(one)
}

/** Calls that are being made in parallel, each with a fiber or with the rest of it. */
class Making<B, E, R> {
  readonly #exits: Array<Exit.Exit<B, E>>
  readonly #fibers = new Set<Fiber.RuntimeFiber<Exit.Exit<B | Rest<B, E, R>, E>>>()
  readonly #rests = new Map<number, Rest<B, E, R>>()
  readonly #made: (at: number, effect: Effect.Effect<B | Rest<B, E, R>, E, R>) => Effect.Effect<B | Rest<B, E, R>, E, R>
  #ready: Array<number> = []
  #open: number
  #hasFailed = false
  #isClosed = false
  #wake: (() => void) | undefined

  constructor(
    count: number,
    made: (at: number, effect: Effect.Effect<B | Rest<B, E, R>, E, R>) => Effect.Effect<B | Rest<B, E, R>, E, R>
  ) {
    this.#exits = Array.from({ length: count })
    this.#open = count
    this.#made = made
  }

  /** Runs a call, or the rest of it, in a fiber. */
  fork(at: number, effect: Effect.Effect<B | Rest<B, E, R>, E, R>): Effect.Effect<void, never, R> {
    // As an exit, its failure is not logged as unhandled.
    return Effect.map(Effect.fork(Effect.exit(this.#made(at, effect))), (fiber) => {
      this.#fibers.add(fiber)
      fiber.addObserver((exit) => {
        this.#fibers.delete(fiber)
        this.#fiberEnded(at, Exit.flatten(exit))
      })
    })
  }

  #fiberEnded(at: number, exit: Exit.Exit<B | Rest<B, E, R>, E>): void {
    if (Exit.isSuccess(exit) && exit.value instanceof Rest) {
      this.#rests.set(at, exit.value)
      if (this.#isClosed) return
      exit.value.onReady(() => {
        this.#ready.push(at)
        this.#wake?.()
      })
      return
    }
    this.#exits[at] = exit as Exit.Exit<B, E>
    this.#open--
    if (Exit.isFailure(exit)) this.#hasFailed = true
    this.#wake?.()
  }

  get #isDecided(): boolean {
    return this.#open === 0 || this.#hasFailed
  }

  /** Waits until a call has ended, or can continue. */
  readonly #news: Effect.Effect<void> = Effect.async((resume) => {
    this.#wake = () => resume(Effect.void)
    if (this.#isDecided || this.#ready.length > 0) this.#wake()
  })

  #continue(some: Iterable<number>): Effect.Effect<void, never, R> {
    return Effect.forEach(some, (at) => {
      const rest = this.#rests.get(at)
      this.#rests.delete(at)
      return rest === undefined ? Effect.void : this.fork(at, rest.effect)
    }, { discard: true })
  }

  readonly #continueReady: Effect.Effect<void, never, R> = Effect.suspend(() => {
    const all = this.#ready
    this.#ready = []
    return this.#continue(all)
  })

  /** Interrupts all that have not ended, and waits for their ends. */
  readonly #close: Effect.Effect<void, never, R> = Effect.suspend(() => {
    this.#isClosed = true
    if (this.#fibers.size === 0 && this.#rests.size === 0) return Effect.void
    return Effect.zipRight(
      this.#continue([...this.#rests.keys()]),
      // An interrupted fiber may have parked its call before it noticed.
      Effect.suspend(() => Effect.zipRight(Fiber.interruptAll([...this.#fibers]), this.#close))
    )
  })

  /** Waits for all of them; returns their results. */
  end(restore: Restore): Effect.Effect<Array<B>, E, R> {
    const watch: Effect.Effect<void, never, R> = Effect.suspend(() =>
      this.#isDecided
        ? Effect.void
        : Effect.zipRight(Effect.zipRight(restore(this.#news), this.#continueReady), watch)
    )
    return watch.pipe(
      Effect.ensuring(this.#close),
      Effect.zipRight(
        Effect.suspend(() =>
          Option.getOrElse(Exit.all(this.#exits, { parallel: true }), (): Exit.Exit<Array<B>, E> => Exit.succeed([]))
        )
      )
    )
  }
}
