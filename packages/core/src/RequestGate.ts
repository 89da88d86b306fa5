/** The way of the requests that share a rate limit, and who sends them. */
import type { SessionID } from "@skein/domain/Id"
import type * as Effect from "effect/Effect"

/** Who wants to send a request. */
export interface Sender {
  readonly rootID: SessionID
  /** Others wait for the answer; what is not urgent goes after all that is. */
  readonly urgent: boolean
  /** It has to wait, at this place in the queue. */
  readonly queued: (position: number) => Effect.Effect<void>
}

/** The way of all requests that share a rate limit: first come first served within a root, and the roots in turn. */
export interface RequestGate {
  /** Sends as soon as there is room; a wait that is interrupted leaves no trace. */
  readonly send: <A, E, R>(sender: Sender, request: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** From now on nothing is sent for so many milliseconds, or longer where that was said before. */
  readonly hold: (duration: number) => void
  /** For how many milliseconds nothing is sent. */
  readonly closedFor: () => number
  /** How many requests are under way, and how many wait. */
  readonly load: () => Load
}

/** How many have what they want, and how many wait for it. */
export interface Load {
  readonly held: number
  readonly waiting: number
}
