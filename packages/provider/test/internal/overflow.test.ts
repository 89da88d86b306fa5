import { describe, expect, it } from "@effect/vitest"
import { isOverflow } from "../../src/internal/failure.ts"

const overflows: ReadonlyArray<{ readonly by: string; readonly text: string; readonly status?: number }> = [
  {
    by: "OpenAI",
    text: "Your input exceeds the context window of this model. Please adjust your input and try again."
  },
  {
    by: "OpenAI Chat",
    text: "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens."
  },
  { by: "Anthropic", text: "prompt is too long: 213462 tokens > 200000 maximum" },
  { by: "Google", text: "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)" },
  { by: "xAI", text: "This model's maximum prompt length is 131072 but the request contains 537812 tokens" },
  { by: "Groq", text: "Please reduce the length of the messages or completion" },
  {
    by: "OpenRouter",
    text: "This endpoint's maximum context length is 200000 tokens. However, you requested about 250000 tokens"
  },
  { by: "llama.cpp", text: "the request exceeds the available context size, try increasing it" },
  { by: "LM Studio", text: "tokens to keep from the initial prompt is greater than the context length" },
  { by: "Ollama", text: "prompt too long; exceeded max context length by 4 tokens" },
  { by: "vLLM", text: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens" },
  { by: "Together", text: "`inputs` tokens + `max_new_tokens` must be <= 4097" },
  { by: "Moonshot", text: "Invalid request: Your request exceeded model token limit: 131072" },
  { by: "MiniMax", text: "invalid params, context window exceeds limit (2013)" },
  {
    by: "Mistral",
    text: "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"
  },
  { by: "Bedrock", text: "Input is too long for requested model" },
  {
    by: "OpenAI, tokens a minute",
    text: "Request too large for gpt-x in organization o on tokens per min (TPM): Limit 30000, Requested 50000.",
    status: 429
  },
  { by: "a proxy", text: "Payload", status: 413 }
]

const others: ReadonlyArray<{ readonly text: string; readonly status?: number }> = [
  {
    text: "Rate limit reached for gpt-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 5000.",
    status: 429
  },
  { text: "Too many requests: maximum context length of the queue", status: 429 },
  { text: "max_tokens is too large: 200000. This model supports at most 128000 completion tokens." },
  { text: "Invalid schema for function 'read': context must be an object" },
  { text: "Incorrect API key provided", status: 401 }
]

describe("isOverflow", () => {
  it.each(overflows)("recognises the message of $by: $text", ({ status = 400, text }) => {
    expect(isOverflow({ status, codes: [], text })).toBe(true)
  })

  it.each(others)("ignores: $text", ({ status = 400, text }) => {
    expect(isOverflow({ status, codes: [], text })).toBe(false)
  })

  it("recognises the codes", () => {
    expect(isOverflow({ status: 400, codes: ["invalid_request_error", "context_length_exceeded"], text: "" })).toBe(
      true
    )
    expect(isOverflow({ status: 400, codes: ["invalid_request_error"], text: "" })).toBe(false)
  })
})
