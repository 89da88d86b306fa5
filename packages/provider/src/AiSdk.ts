/** Turns a model that your program made with the AI SDK into a Provider, with middleware if you like. */
import type { LanguageModelV3, LanguageModelV3Middleware } from "@ai-sdk/provider"
import { type LanguageModel, Provider } from "@skein/core/Provider"
import type { ModelInfo } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as LanguageModelAdapter from "./LanguageModelAdapter.ts"
import { lookup } from "./Models.ts"

/** Options for a model of the AI SDK. */
export interface AiSdkOptions
  extends
    Pick<LanguageModelAdapter.AdapterOptions, "limitKey" | "secrets" | "keyName" | "firstEvent" | "providerOptions">
{
  /** Middleware of `ai`, such as `extractReasoningMiddleware`. The first in the list sees a request first. */
  readonly middleware?: LanguageModelV3Middleware | ReadonlyArray<LanguageModelV3Middleware>
  /** Name, limits, price and abilities. By default, the model's own name and what `Models` knows about it. */
  readonly info?: ModelInfo
}

/** What the AI SDK calls `openai.responses` is `openai` here. */
const infoOf = ({ modelId, provider }: LanguageModelV3): ModelInfo => lookup(provider.replace(/\..*$/s, ""), modelId)

/** Adapts a model of the AI SDK. Loads `ai` only if there is middleware. */
export const make = (model: LanguageModelV3, options: AiSdkOptions = {}): Effect.Effect<LanguageModel> => {
  const { info = infoOf(model), middleware = [], ...rest } = options
  const all = [middleware].flat()
  const adapt = (wrapped: LanguageModelV3) => LanguageModelAdapter.make({ ...rest, info, model: wrapped })
  return all.length === 0
    ? Effect.succeed(adapt(model))
    : Effect.map(Effect.promise(() => import("ai")), (ai) => adapt(ai.wrapLanguageModel({ model, middleware: all })))
}

/** A Provider with this model alone. */
export const layer = (model: LanguageModelV3, options: AiSdkOptions = {}): Layer.Layer<Provider> =>
  Layer.unwrapEffect(Effect.map(make(model, options), (made) => Provider.layerModels([made])))
