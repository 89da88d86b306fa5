import { expect, it } from "@effect/vitest"
import { surveyRef, vendor } from "@skein/offline/Offline"
import { survey } from "@skein/offline/Survey"
import * as Effect from "effect/Effect"

it.effect("has one model, with the model's own description", () =>
  Effect.gen(function*() {
    expect(yield* vendor.model(surveyRef.modelID)).toBe(survey)
    expect(survey.info).toMatchObject(surveyRef)
    expect(vendor).toMatchObject({ id: surveyRef.providerID, models: [survey.info], available: true })
  }))

it.effect("names its model when another is requested", () =>
  Effect.gen(function*() {
    const error = yield* Effect.flip(vendor.model("gpt"))
    expect(error).toMatchObject({ reason: "unknown_model", model: "offline/gpt" })
    expect(error.message).toContain("offline/survey")
  }))
