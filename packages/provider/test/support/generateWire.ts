import * as Google from "../../src/Google.ts"
import type { Wire } from "./wireCase.ts"

const chunk = (parts: ReadonlyArray<object>, more: object = {}) => ({
  candidates: [{ content: { role: "model", parts }, index: 0, ...more }],
  modelVersion: "m"
})

/** Google's Generative Language API. Its calls come whole: half a call is never sent. */
export const generateWire: Wire = {
  path: "/v1/models/m:streamGenerateContent?alt=sse",
  vendor: (baseUrl, apiKey) => Google.make({ baseUrl, apiKey }),
  keyHeader: ["x-goog-api-key", ""],
  outputCap: "maxOutputTokens",
  wholeCalls: true,
  addsVersion: true,
  errors: [
    [{ code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" }, "overloaded", true],
    [{ code: 500, message: "Internal.", status: "INTERNAL" }, "server", true],
    [{ code: 429, message: "Resource has been exhausted.", status: "RESOURCE_EXHAUSTED" }, "rate_limit", true],
    [{ code: 400, message: "No.", status: "INVALID_ARGUMENT" }, "invalid_request", false],
    [
      { code: 400, message: "The input token count (9) exceeds the maximum number of tokens allowed (8)." },
      "context_overflow",
      false
    ],
    [{ message: "Oops" }, "server", true]
  ],
  request: {
    fixed: { generationConfig: { temperature: 0.5 } },
    goodCall: "\"args\":{\"command\":\"ls\"}",
    badCall: "\"args\":{}"
  },
  begin: [{ usageMetadata: { promptTokenCount: 0 }, modelVersion: "m" }],
  text: (...deltas) => deltas.map((text) => chunk([{ text }])),
  callBegin: (id, name, args) =>
    args.endsWith("}") ? [chunk([{ functionCall: { id, name, args: JSON.parse(args) } }])] : [],
  callEnd: () => [],
  finish: (reason, usage) => [{
    candidates: [{ content: { role: "model", parts: [] }, finishReason: reason === "length" ? "MAX_TOKENS" : "STOP" }],
    ...usage === undefined ? {} : { usageMetadata: usage }
  }],
  usage: (input, output, cached = 0, reasoning = 0) => ({
    promptTokenCount: input,
    candidatesTokenCount: typeof output === "number" && typeof reasoning === "number" ? output - reasoning : output,
    thoughtsTokenCount: reasoning,
    cachedContentTokenCount: cached
  })
}
