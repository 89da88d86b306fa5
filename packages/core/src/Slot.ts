/** An agent's right to work, and the calls that it makes with it. */
import type { SessionID } from "@skein/domain/Id"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type { Load } from "./RequestGate.ts"

/** A call of an agent. It counts as work except while it waits. */
export interface Call {
  /**
   * Waits for others (tasks, people). The agent gives its slot back meanwhile, unless another of its calls works. A
   * call may wait in several places at once; it works again when it waits in none.
   */
  readonly waiting: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** The rest of a call that waits without a fiber. */
export interface CallRest<A, E, B, E2, R> {
  /** Calls back once the wait is over, which may be at once. */
  readonly onReady: (ring: () => void) => void
  /** Ends as the wait does. Its interruption ends what it waits for. */
  readonly wait: Effect.Effect<A, E>
  /** Ends the call; uninterruptible where it does not say otherwise. */
  readonly settle: (exit: Exit.Exit<A, E>) => Effect.Effect<B, E2, R>
}

/** Ends the fiber of a call while it waits. A new one makes the rest of the call, and how the first one ends is ignored. */
export type LeaveCall<B, E2, R> = <A, E>(rest: CallRest<A, E, B, E2, R>) => void

/** What the owner of calls notes of them. */
export interface CallWatch<A> {
  /** A call begins; call the returned function when it has ended. */
  readonly begin: (input: A) => () => void
  /** A call starts to wait, in one place or several. */
  readonly beginWaiting: () => void
  /** A call waits no longer. */
  readonly endWaiting: () => void
}

/** An agent's right to work. */
export interface Slot {
  /**
   * Asks for the slot before there is work: calls `start` once it is granted, at once if there is room or the agent has
   * it. Returns its place in the queue, 0 if it does not wait, and how to give the slot or the place up. `news` belongs
   * to the next run of the same agent, and replaces the earlier one.
   */
  readonly first: (start: () => void, news?: SlotNews) => { readonly position: number; readonly giveUp: () => void }
  /** Whether it asks for the slot, for work that has begun, and waits for it. */
  readonly isWaiting: () => boolean
  /** Works as soon as there is room, and releases the slot at the end. */
  readonly work: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Inside `work`, outside calls: waits for others without the slot, and takes it again before it continues. */
  readonly away: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /**
   * Inside `work`: makes calls in parallel and returns their results in order. A call that is not alone may `leave` its
   * fiber while it is `waiting`.
   */
  readonly calls: <A, B, E, R>(
    inputs: ReadonlyArray<A>,
    body: (input: A, call: Call, leave?: LeaveCall<B, E, R>) => Effect.Effect<B, E, R>,
    watch?: CallWatch<A>
  ) => Effect.Effect<Array<B>, E, R>
}

/** What an agent learns about its first slot. */
export interface SlotNews {
  /** How many agents below its root may work at once; by default the limit of the process. */
  readonly most?: number
  /** It has to wait, at this place in the queue. */
  readonly queued: (position: number) => Effect.Effect<void>
  /** It has the slot. */
  readonly granted: Effect.Effect<void>
}

/** The slots of a process. */
export interface SlotLoad extends Load {
  /** How many slots there are. */
  readonly limit: number
  /** How many agents could work if there were enough slots: those of one root at most up to the limit of the root. */
  readonly wanted: number
  /** The same for each root that has or wants slots. */
  readonly roots: ReadonlyMap<SessionID, number>
}
