import { expect, it } from "@effect/vitest"
import { openAiDialect } from "../../src/internal/chat/openAiDialect.ts"
import { request } from "../support/Server.ts"

it("OpenAI's own server is told which requests share their beginning, others are not", () => {
  const one = request()
  expect(openAiDialect("gpt-4o", true).settings(one)["prompt_cache_key"]).toBe(one.origin.sessionID)
  expect(openAiDialect("gpt-4o", false).settings(one)).not.toHaveProperty("prompt_cache_key")
})
