/** An agent's right to work. */
import type { SessionID } from "@skein/domain/Id"
import type * as Effect from "effect/Effect"
import type { Load } from "./RequestGate.ts"

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
  /** Whether the agent has it. */
  readonly isHeld: () => boolean
  /** Gives it back while all calls wait. */
  readonly give: () => void
  /** Takes it again, unless the agent has it. */
  readonly hold: Effect.Effect<void>
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
