/** Owns how much happens at once: slots for agents at work, per root and for the process, and requests to each model. */
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import { Config } from "./Config.ts"
import { makeRequestGate } from "./internal/governor/requestGate.ts"
import { free, makePool, makeSlot } from "./internal/governor/slots.ts"
import type { LanguageModel } from "./Provider.ts"

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
  /** It has to wait, at this place in the queue. */
  readonly queued: (position: number) => Effect.Effect<void>
  /** It has the slot. */
  readonly granted: Effect.Effect<void>
}

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

/** How much happens at once. */
export class Governor extends Context.Tag("@skein/core/Governor")<Governor, {
  /**
   * A slot for an agent below a root. Siblings are served in the order in which they came, and roots in turn. Agents that go
   * on after waiting come before new ones, so that nested waiting cannot block itself.
   */
  readonly slot: (rootID: SessionID, news: SlotNews) => Slot
  /** The slot of a root: there is always room for it, and no limit counts it. */
  readonly free: Slot
  /** How many tool calls of one step run at once; calls that wait for others do not count. */
  readonly callsAtOnce: number
  /** The way of the requests to a model, which it shares with all that have the same `limitKey`. */
  readonly requests: (model: Pick<LanguageModel, "info" | "limitKey">) => RequestGate
  /** How many agents hold a slot, and how many wait for one. */
  readonly load: Effect.Effect<Load>
}>() {
  /** A governor for this process, by the limits of the config. */
  static readonly layer: Layer.Layer<Governor, never, Config> = Layer.scoped(
    Governor,
    Effect.gen(function*() {
      const { settings: { limits, provider } } = yield* Config
      const scope = yield* Effect.scope
      const clock = yield* Effect.clock
      const runtime = yield* Effect.runtime<never>()
      const pool = makePool(limits.concurrency, limits.process_concurrency)
      const gates = new Map<string, RequestGate>()
      return {
        slot: (rootID, news) => makeSlot(pool, rootID, news),
        free,
        callsAtOnce: limits.concurrency,
        requests: ({ info, limitKey }) => {
          const known = gates.get(limitKey)
          if (known !== undefined) return known
          const limit = provider?.[info.providerID]?.max_requests ?? limits.requests
          const gate = makeRequestGate(limit, clock, (effect) => Runtime.runFork(runtime)(effect, { scope }))
          gates.set(limitKey, gate)
          return gate
        },
        load: Effect.sync(pool.load)
      }
    })
  )
}
