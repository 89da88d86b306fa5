import { expect, it } from "@effect/vitest"
import { jsonSchema } from "@skein/config/ConfigSchema"
import * as Effect from "effect/Effect"

it.effect("tells an editor the keys, their values, and that there are no others", () =>
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

it.effect("lets variables stand where a pattern is asked for", () =>
  Effect.gen(function*() {
    const { properties } = yield* jsonSchema
    const pattern = new RegExp(Object(properties).model.pattern)
    expect(["openai/gpt-5", "{env:MODEL}", "gpt-5"].map((text) => pattern.test(text))).toEqual([true, true, false])
  }))
