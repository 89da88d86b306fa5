/** Decides which models a session's requests go to. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import { type ModelRef, parseRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import { Config } from "../../Config.ts"
import { Provider } from "../../Provider.ts"
import type { Live } from "./live.ts"

/** The provider that stands for whichever the session has its model from: `session/small`, `session/default`, `session/large`. */
const anyVendor = "session"

/** The models to try: the session's own, else the agent's, else the configured or the default one. */
export const candidates = Effect.fnUntraced(function*(live: Live, agent: AgentInfo) {
  if (live.info.model !== undefined) return [yield* concrete(live, live.info.model)]
  if (agent.model.length > 0) return yield* Effect.forEach(agent.model, (ref) => concrete(live, ref))
  return [yield* usual]
})

/** The model of sessions and agents that name none. */
const usual = Effect.gen(function*() {
  const { settings } = yield* Config
  const configured = settings.model === undefined ? undefined : parseRef(settings.model)
  if (configured !== undefined && configured.providerID !== anyVendor) return configured
  const provider = yield* Provider
  return yield* provider.defaultModel
})

/** The nearest model that a session or one above it was given by name. */
const given = (live: Live | undefined): ModelRef | undefined =>
  live === undefined || (live.info.model !== undefined && live.info.model.providerID !== anyVendor)
    ? live?.info.model
    : given(live.parent)

/**
 * A model by its size as one of the vendor that the session has its model from. Where no model of that size is known of the
 * vendor, it is the session's model.
 */
export const concrete = Effect.fnUntraced(function*(live: Live, ref: ModelRef) {
  if (ref.providerID !== anyVendor) return ref
  const provider = yield* Provider
  const base = given(live) ?? (yield* usual)
  const models = yield* provider.list
  const found = models.find(({ providerID, size }) => providerID === base.providerID && size === ref.modelID)
  return found === undefined ? base : { providerID: found.providerID, modelID: found.modelID }
})
