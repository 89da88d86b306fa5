/** An agent's right to work, and the calls that it makes with it. */
import type * as Effect from "effect/Effect"

/** A call of an agent: it counts as work except while it waits. */
export interface Call {
  /**
   * Waits for others (tasks, people): the agent gives its slot back meanwhile, where none of its other calls is at work. A
   * call may wait in several places at once; it is at work again when it waits in none.
   */
  readonly waiting: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** An agent's right to work. */
export interface Slot {
  /**
   * Asks for the slot before there is any work: `start` is called once it is there, at once where there is room. Gives its
   * place in the queue, 0 where it does not wait, and the way to give up, also what was granted and not used.
   */
  readonly first: (start: () => void) => { readonly position: number; readonly giveUp: () => void }
  /** Works as soon as there is room, and makes room at the end. */
  readonly work: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Inside of `work`, and of no call: waits for others without the slot, and has it again before it goes on. */
  readonly away: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Inside of `work`: makes calls at the same time and gives their results in order. */
  readonly calls: <A, B, E, R>(
    inputs: ReadonlyArray<A>,
    body: (input: A, call: Call) => Effect.Effect<B, E, R>
  ) => Effect.Effect<Array<B>, E, R>
}

/** What an agent hears of its first slot. */
export interface SlotNews {
  /** How many agents below its root may work at once. The limit of the process where absent. */
  readonly most?: number
  /** It has to wait, at this place in the queue. */
  readonly queued: (position: number) => Effect.Effect<void>
  /** It has the slot. */
  readonly granted: Effect.Effect<void>
}
