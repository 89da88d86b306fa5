/** The gate of the requests that share a rate limit, who sends them, and how several processes share one limit. */
import type { SessionID } from "@skein/domain/Id"
import type * as Effect from "effect/Effect"

/** The sender of a request. */
export interface Sender {
  readonly rootID: SessionID
  /** Whether others wait for the answer. Requests that are not urgent come after all urgent ones. */
  readonly urgent: boolean
  /** How many requests may be in flight with this one. Without it, the limit of the gate. */
  readonly most?: number
  /** Called when it has to wait, with its place in the queue. */
  readonly queued: (position: number) => void
}

/** A request's place at its gate. */
export interface GatePlace {
  /** Waits until there is room; undefined if there is. */
  readonly granted: Effect.Effect<void> | undefined
  /** Gives the place up, or leaves the queue. To be called in any case. */
  readonly leave: () => void
}

/** The gate of all requests that share a rate limit: first come first served within a root, and the roots in turn. */
export interface RequestGate {
  /** Enters the gate, or its queue. */
  readonly enter: (sender: Sender) => GatePlace
  /** Pauses the gate for this many milliseconds, or longer if an earlier pause is longer. */
  readonly hold: (duration: number) => void
  /** The rest of the current pause, in milliseconds. */
  readonly closedFor: () => number
  /**
   * Calls back once, at a time of `MonotonicClock.elapsed` in milliseconds, and runs the effect that it gets; returns how to
   * cancel that. The deadlines of requests share one timer.
   */
  readonly alarm: (at: number, ring: () => Effect.Effect<void> | undefined) => () => void
  /** How many requests are in flight, and how many wait. */
  readonly load: () => Load
}

/** How many are granted, and how many wait. */
export interface Load {
  readonly held: number
  readonly waiting: number
}

/** What a process wants of a limit. */
export interface Demand {
  /** The limit of all processes together. */
  readonly limit: number
  /** How many requests are in flight, and how many wait. */
  readonly held: number
  readonly waiting: number
  /** How many trees they belong to. */
  readonly roots: number
}

/** The gate of one process. Nothing passes it until it was lent a share. */
export interface SharedGate {
  /** The same for all gates that share a limit. */
  readonly key: string
  readonly demand: () => Demand
  /** From now on, up to so many requests are in flight; none more begins after this many milliseconds. */
  readonly lend: (share: number, milliseconds: number) => void
  /** Pauses it for this many milliseconds, or longer if an earlier pause is longer. */
  readonly hold: (milliseconds: number) => void
  /** The rest of the current pause, in milliseconds. */
  readonly closedFor: () => number
}

/** Who divides the limits. */
export interface Sharing {
  /** There is another gate. */
  readonly added: (gate: SharedGate) => void
  /** A request waits, or a provider asked for a pause: an earlier division is welcome, but not needed. */
  readonly changed: () => void
}
