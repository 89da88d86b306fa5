/** Limits concurrency: slots for working agents, per root and per process, and parallel requests to each model. */
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import { Config } from "./Config.ts"
import { makeAlarms } from "./internal/fibers.ts"
import { makeRequestGate } from "./internal/governor/requestGate.ts"
import { free, makePool, makeSlot } from "./internal/governor/slots.ts"
import type { LanguageModel } from "./Provider.ts"
import type { RequestGate, Sharing } from "./RequestGate.ts"
import type { Slot, SlotLoad, SlotNews } from "./Slot.ts"

export type { RequestGate, Sender } from "./RequestGate.ts"
export type { Slot, SlotLoad } from "./Slot.ts"

/** The limits on concurrent work. */
export class Governor extends Context.Tag("@skein/core/Governor")<Governor, {
  /**
   * A slot for an agent below a root. Siblings are served in order of arrival, and roots in turn. Agents that continue
   * after a wait come before new ones, so that nested waits cannot deadlock.
   */
  readonly slot: (rootID: SessionID, news: SlotNews) => Slot
  /** The slot of a root: always granted, and not counted by any limit. */
  readonly free: Slot
  /** The request gate of a model, shared by all models with the same `limitKey`. */
  readonly requests: (model: Pick<LanguageModel, "info" | "limitKey">) => RequestGate
  /**
   * From now on, the limits on requests hold over several processes, and this divides them. Nothing is sent until it has.
   */
  readonly share: (sharing: Sharing) => void
  /** How many agents hold a slot, how many wait for one, and how many could work without the limit of the process. */
  readonly load: Effect.Effect<SlotLoad>
}>() {
  /** A governor for this process, with the limits of the config. */
  static readonly layer: Layer.Layer<Governor, never, Config> = Layer.scoped(
    Governor,
    Effect.gen(function*() {
      const { settings: { limits, provider } } = yield* Config
      const clock = yield* Effect.clock
      const run = yield* FiberSet.makeRuntime<never>()
      const pool = makePool(limits.concurrency, limits.process_concurrency)
      const alarms = yield* makeAlarms
      const gates = new Map<string, ReturnType<typeof makeRequestGate>>()
      let sharing: Sharing | undefined
      return {
        slot: (rootID, news) => makeSlot(pool, rootID, news),
        free,
        requests: ({ info, limitKey }) => {
          const known = gates.get(limitKey)
          if (known !== undefined) return known
          const limit = provider?.[info.providerID]?.max_requests ?? limits.requests
          const gate = makeRequestGate(limit, clock, alarms.set, (effect) => void run(effect))
          gates.set(limitKey, gate)
          if (sharing !== undefined) gate.share(limitKey, sharing)
          return gate
        },
        share: (given) => {
          sharing = given
          for (const [key, gate] of gates) gate.share(key, given)
        },
        load: Effect.sync(pool.load)
      }
    })
  )
}
