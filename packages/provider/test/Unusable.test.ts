import { unusable } from "@skein/provider/BuiltIn"
import { expect, it } from "vitest"

const check = unusable(
  { OPENAI_API_KEY: "k", GROQ_API_KEY: "  ", VLLM_BASE_URL: "http://10.0.0.1:8000/v1", MINE: "k", GEMINI_API_KEY: "k" },
  ["offline"]
)

it.each(
  [
    ["openai", undefined, undefined],
    ["offline", undefined, undefined],
    ["session", undefined, undefined],
    ["cohere", undefined, "there is no provider \"cohere\""],
    ["anthropic", undefined, "anthropic needs a key: set ANTHROPIC_API_KEY"],
    ["google", undefined, undefined],
    ["groq", undefined, "groq needs a key: set GROQ_API_KEY"],
    ["groq", { key_env: "MINE" }, undefined],
    ["openai", { key_env: "OTHER" }, "openai needs a key: set OTHER"],
    ["mine", { base_url: "http://127.0.0.1:1/v1" }, undefined],
    ["mine", { base_url: "https://models.example/v1", key_env: "OTHER" }, "mine needs a key: set OTHER"],
    [
      "ollama",
      undefined,
      "ollama is a server that may not run: set OLLAMA_BASE_URL, or name it under provider in your own config"
    ],
    ["ollama", { base_url: "http://127.0.0.1:11434/v1" }, undefined],
    ["vllm", undefined, undefined]
  ] as const
)("%s with the config %j: %s", (providerID, config, why) => {
  expect(check(providerID, config)).toBe(why)
})
