/** Owns the way to a model that a program has made with the AI SDK, with or without middleware around it. */
import type { LanguageModelV3, LanguageModelV3Middleware } from "@ai-sdk/provider"
import { type LanguageModel, Provider } from "@skein/core/Provider"
import type { ModelInfo } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as LanguageModelAdapter from "./LanguageModelAdapter.ts"
import { lookup } from "./Models.ts"

/** What a program may say about its model. */
export interface AiSdkOptions
  extends
    Pick<LanguageModelAdapter.AdapterOptions, "limitKey" | "secrets" | "keyName" | "firstEvent" | "providerOptions">
{
  /** Middleware of `ai`, such as `extractReasoningMiddleware`. The first in the list sees a request first. */
  readonly middleware?: LanguageModelV3Middleware | ReadonlyArray<LanguageModelV3Middleware>
  /** Name, limits, price and abilities. Without it, the model goes by its own names, and `Models` says the rest. */
  readonly info?: ModelInfo
}

/** What the AI SDK calls `openai.responses` is `openai` here. */
const infoOf = ({ modelId, provider }: LanguageModelV3): ModelInfo => lookup(provider.replace(/\..*$/s, ""), modelId)

/** A model of the AI SDK as one of Skein's. Loads `ai` only if there is middleware. */
export const make = (model: LanguageModelV3, options: AiSdkOptions = {}): Effect.Effect<LanguageModel> => {
  const { info = infoOf(model), middleware = [], ...rest } = options
  const all = [middleware].flat()
  const adapt = (wrapped: LanguageModelV3) => LanguageModelAdapter.make({ ...rest, info, model: wrapped })
  return all.length === 0
    ? Effect.succeed(adapt(model))
    : Effect.map(Effect.promise(() => import("ai")), (ai) => adapt(ai.wrapLanguageModel({ model, middleware: all })))
}

/** A model of the AI SDK as the only one. */
export const layer = (model: LanguageModelV3, options: AiSdkOptions = {}): Layer.Layer<Provider> =>
  Layer.unwrapEffect(Effect.map(make(model, options), (made) => Provider.layerModels([made])))
