import { expect, it } from "@effect/vitest"
import { openAiDialect } from "../../src/internal/chat/chatBody.ts"
import { request } from "../support/Server.ts"

it("OpenAI's own server gets a cache key for requests with the same beginning, others do not", () => {
  const one = request()
  expect(openAiDialect("gpt-4o", true).settings(one)["prompt_cache_key"]).toBe(one.origin.sessionID)
  const copy = { ...one, origin: { ...one.origin, cachedAs: "ses_original" as typeof one.origin.sessionID } }
  expect(openAiDialect("gpt-4o", true).settings(copy)["prompt_cache_key"]).toBe("ses_original")
  expect(openAiDialect("gpt-4o", false).settings(one)).not.toHaveProperty("prompt_cache_key")
})
