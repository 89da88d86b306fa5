import type { Wire } from "./wireCase.ts"

const chunk = (delta: unknown, finish: string | null = null) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1_700_000_000,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: finish }]
})

/** The Chat Completions API. */
export const chatWire = (vendor: Wire["vendor"]): Wire => ({
  path: "/v1/chat/completions",
  vendor,
  keyHeader: ["authorization", "Bearer "],
  outputCap: "max_tokens",
  request: {
    fixed: { model: "m", stream: true, temperature: 0.5, tool_choice: "auto" },
    goodCall: JSON.stringify("{\"command\":\"ls\"}"),
    badCall: "\"arguments\":\"{}\""
  },
  begin: [chunk({ role: "assistant", content: "" })],
  text: (...deltas) => deltas.map((content) => chunk({ content })),
  callBegin: (id, name, args, index = 0) => [
    chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }),
    chunk({ tool_calls: [{ index, function: { arguments: args } }] })
  ],
  callEnd: () => [],
  finish: (reason, usage) => [
    chunk({}, reason),
    ...usage === undefined ? [] : [{ ...chunk({}), choices: [], usage }]
  ],
  usage: (input, output, cached = 0, reasoning = 0) => ({
    prompt_tokens: input,
    completion_tokens: output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning }
  })
})
