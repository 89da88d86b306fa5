import { expect, it } from "@effect/vitest"
import { jsonSchema } from "@skein/config/ConfigSchema"
import * as Effect from "effect/Effect"

it.effect("describes the keys and their values, and allows no others", () =>
  Effect.gen(function*() {
    expect(yield* jsonSchema).toMatchObject({
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      additionalProperties: false,
      properties: {
        $schema: { type: "string" },
        limits: { additionalProperties: false, properties: { concurrency: { type: "integer" } } },
        agent: {
          patternProperties: {
            "": {
              additionalProperties: false,
              properties: { mode: { enum: ["primary", "subagent", "all"] } }
            }
          }
        }
      }
    })
  }))

it.effect("allows variables in place of a pattern", () =>
  Effect.gen(function*() {
    const { properties } = yield* jsonSchema
    const pattern = new RegExp(Object(properties).model.pattern)
    expect(["openai/gpt-5", "{env:MODEL}", "gpt-5"].map((text) => pattern.test(text))).toEqual([true, true, false])
  }))
