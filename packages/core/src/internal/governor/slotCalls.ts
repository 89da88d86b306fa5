/** Makes the calls of an agent: while one waits, it may release the agent's slot, and its own fiber. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Call, CallRest, CallWatch, LeaveCall } from "../../Slot.ts"
import { allOf, bracketed, type Leave } from "../fibers.ts"

/** A slot that the calls need. */
interface HeldSlot {
  readonly beginWaiting: () => void
  readonly endWaiting: () => void
  readonly endCall: () => void
  /** Takes the slot, unless the agent has it. */
  readonly hold: Effect.Effect<void>
}

/** The body of a call. */
export type CallBody<A, B, E, R> = (input: A, call: Call, leave?: LeaveCall<B, E, R>) => Effect.Effect<B, E, R>

const unwatched: CallWatch<unknown> = { begin: () => () => {}, beginWaiting: () => {}, endWaiting: () => {} }

/** One call. A class with little state, because thousands of them may wait. */
class SlotCall<A> implements Call {
  readonly #slot: HeldSlot | undefined
  readonly #watch: CallWatch<A>
  /** In how many places it waits: its parallel fibers may wait as well. */
  #waits = 0
  /** Whether it waits without a fiber. */
  #hasLeft = false
  #ended: (() => void) | undefined

  constructor(slot: HeldSlot | undefined, watch: CallWatch<A>) {
    this.#slot = slot
    this.#watch = watch
  }

  begin(input: A): void {
    this.#ended = this.#watch.begin(input)
  }

  end(): void {
    if (this.#hasLeft) return
    if (this.#waits > 0) this.#endWaiting()
    this.#waits = 0
    this.#ended?.()
    this.#slot?.endCall()
  }

  waiting<B, E, R>(effect: Effect.Effect<B, E, R>): Effect.Effect<B, E, R> {
    return bracketed(() => this.#rest(), effect, () => this.#resume(), this.#hold)
  }

  /** Keeps the call waiting after the end of its fiber; returns the rest of it. */
  leave<B, E, C, E2, R>({ settle, wait }: CallRest<B, E, C, E2, R>): Effect.Effect<C, E2, R> {
    this.#hasLeft = true
    return Effect.suspend(() =>
      Effect.flatMap(Effect.exit(wait), (exit) => {
        this.#hasLeft = false
        this.#resume()
        return Effect.flatMap(
          Effect.exit(Effect.interruptible(this.#hold)),
          (held) => Effect.ensuring(settle(Exit.zipRight(held, exit)), Effect.sync(() => this.end()))
        )
      })
    )
  }

  #rest(): void {
    if (this.#waits++ > 0) return
    this.#slot?.beginWaiting()
    this.#watch.beginWaiting()
  }

  #resume(): void {
    if (!this.#hasLeft && this.#waits > 0 && --this.#waits === 0) this.#endWaiting()
  }

  #endWaiting(): void {
    this.#watch.endWaiting()
    this.#slot?.endWaiting()
  }

  /** An interrupted wait does not take the slot again: the step does so before it continues. */
  get #hold(): Effect.Effect<void> {
    return Effect.suspend(() => this.#waits > 0 || this.#slot === undefined ? Effect.void : this.#slot.hold)
  }
}

const makeCall = <A, B, E, R>(
  slot: HeldSlot | undefined,
  input: A,
  body: CallBody<A, B, E, R>,
  watch: CallWatch<A>,
  leave?: Leave<B, E, R>
): Effect.Effect<B, E, R> =>
  Effect.suspend(() => {
    const call = new SlotCall(slot, watch)
    const leaving: LeaveCall<B, E, R> | undefined = leave === undefined
      ? undefined
      : (rest) => leave({ onReady: rest.onReady, effect: call.leave(rest) })
    return bracketed(() => call.begin(input), Effect.suspend(() => body(input, call, leaving)), () => call.end())
  })

/** Makes calls in parallel; a single one needs no extra fiber. `slot` is undefined for an agent without limits. */
export const makeCalls = <A, B, E, R>(
  slot: HeldSlot | undefined,
  inputs: ReadonlyArray<A>,
  body: CallBody<A, B, E, R>,
  watch: CallWatch<A> = unwatched
): Effect.Effect<Array<B>, E, R> =>
  inputs.length > 1
    ? allOf(inputs, (input, leave) => makeCall(slot, input, body, watch, leave))
    : Effect.forEach(inputs, (input) => makeCall(slot, input, body, watch))
