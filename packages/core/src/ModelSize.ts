/**
 * Decides which model a size stands for: `session/small`, `session/default` and `session/large` are models of the
 * session's vendor.
 */
import { type ModelRef, parseRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import { Config } from "./Config.ts"
import { Provider } from "./Provider.ts"

/** The name that stands for the session's provider. */
export const sessionVendor = "session"

/** Whether this is the size of a model rather than a model. */
export const isSize = ({ providerID }: ModelRef): boolean => providerID === sessionVendor

/** The model of sessions and agents that name none: the configured one, else the default. */
export const usualModel = Effect.gen(function*() {
  const { settings } = yield* Config
  const configured = settings.model === undefined ? undefined : parseRef(settings.model)
  if (configured !== undefined && !isSize(configured)) return configured
  const provider = yield* Provider
  return yield* provider.defaultModel
})

/**
 * The model that a size stands for if `base` is the session's model: `base` itself if that size is unknown. Returns
 * other models unchanged.
 */
export const ofVendor = Effect.fnUntraced(function*(ref: ModelRef, base: ModelRef) {
  if (!isSize(ref)) return ref
  const provider = yield* Provider
  const models = yield* provider.list
  const found = models.find(({ providerID, size }) => providerID === base.providerID && size === ref.modelID)
  return found === undefined ? base : { providerID: found.providerID, modelID: found.modelID }
})
