/** Owns the provider `offline`, whose one model needs no key and no network. */
import { type LanguageModel, ModelUnavailable } from "@skein/core/Provider"
import type { ModelInfo, ModelRef } from "@skein/domain/Model"
import * as Effect from "effect/Effect"
import { surveyInfo } from "./internal/surveyInfo.ts"

/** `offline/survey`: the model to fall back to if no key is set. */
export const surveyRef: ModelRef = { providerID: surveyInfo.providerID, modelID: surveyInfo.modelID }

/** The provider as a vendor: always available. Loads the model when you ask for it. */
export const vendor = {
  id: surveyInfo.providerID,
  models: [surveyInfo] satisfies ReadonlyArray<ModelInfo>,
  available: true,
  model: (modelID: string): Effect.Effect<LanguageModel, ModelUnavailable> =>
    modelID === surveyInfo.modelID
      ? Effect.map(Effect.promise(() => import("./Survey.ts")), ({ survey }) => survey)
      : Effect.fail(
        new ModelUnavailable({
          model: `offline/${modelID}`,
          reason: "unknown_model",
          message: `There is no model offline/${modelID}: the offline provider has offline/survey only.`
        })
      )
}
