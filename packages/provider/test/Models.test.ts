import { describe, expect, it } from "@effect/vitest"
import { ModelInfo } from "@skein/domain/Model"
import { costOf } from "@skein/domain/Usage"
import * as Schema from "effect/Schema"
import { known, lookup } from "../src/Models.ts"

const tokens = { input: 1_000, output: 100, reasoning: 0, cacheRead: 400, cacheWrite: 0 }

describe("Models", () => {
  it("every row is a valid model with exact prices", () => {
    for (const provider of ["openai", "deepseek", "groq", "mistral"]) {
      const models = known(provider)
      expect(models.length).toBeGreaterThan(0)
      for (const model of models) {
        expect(Schema.is(ModelInfo)(model)).toBe(true)
        expect(costOf(tokens, model.price)).toMatch(/^0\.\d+$/)
        expect(model.limit?.output).toBeLessThanOrEqual(model.limit?.context ?? 0)
      }
    }
  })

  it("costs are exact", () => {
    expect(costOf(tokens, lookup("openai", "gpt-5").price)).toBe("0.0018")
  })

  it("a model that is not listed has an unknown price and limit", () => {
    expect(lookup("openai", "m")).toEqual({ providerID: "openai", modelID: "m" })
    expect(costOf(tokens, lookup("openai", "m").price)).toBe("unknown")
  })

  it("a dated snapshot counts as its family, a longer name does not", () => {
    expect(lookup("openai", "gpt-5-2025-08-07").price).toEqual(lookup("openai", "gpt-5").price)
    expect(lookup("openai", "gpt-5-2025-08-07").modelID).toBe("gpt-5-2025-08-07")
    expect(lookup("openai", "gpt-5-pro").price).toBeUndefined()
  })

  it("config adds models, and changes the properties of others", () => {
    const configs = { "gpt-5": { price: { input: "0", output: "0" } }, mine: { limit: { context: 10, output: 5 } } }
    const models = new Map(known("openai", configs).map((model) => [model.modelID, model]))
    expect(models.get("gpt-5")?.price).toEqual({ input: "0", output: "0" })
    expect(models.get("gpt-5")?.limit).toEqual(lookup("openai", "gpt-5").limit)
    expect(models.get("mine")).toEqual({ providerID: "openai", modelID: "mine", limit: { context: 10, output: 5 } })
  })
})
