import * as Anthropic from "../../src/Anthropic.ts"
import type { Wire } from "./wireCase.ts"

const reasons = { stop: "end_turn", length: "max_tokens", tool_calls: "tool_use" } as const

const started = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    stop_reason: null,
    usage: { input_tokens: 0, output_tokens: 1 }
  }
}

const delta = (index: number, piece: object) => ({ type: "content_block_delta", index, delta: piece })

/** Anthropic's Messages API. */
export const messagesWire: Wire = {
  path: "/v1/messages",
  vendor: (baseUrl, apiKey) => Anthropic.make({ baseUrl, apiKey }),
  keyHeader: ["x-api-key", ""],
  outputCap: "max_tokens",
  usualCap: 32_000,
  addsVersion: true,
  errors: [
    [{ type: "overloaded_error", message: "Overloaded" }, "overloaded", true],
    [{ type: "rate_limit_error", message: "Slow." }, "rate_limit", true],
    [{ type: "api_error", message: "Oops" }, "server", true],
    [{ type: "invalid_request_error", message: "No." }, "invalid_request", false],
    [{ type: "invalid_request_error", message: "prompt is too long: 9 tokens > 8 maximum" }, "context_overflow", false],
    [{ type: "authentication_error", message: "invalid x-api-key" }, "auth", false],
    [{ type: "billing_error", message: "Pay." }, "rate_limit", false],
    [{ type: "invalid_request_error", message: "Your credit balance is too low." }, "rate_limit", false]
  ],
  request: {
    fixed: { model: "m", stream: true, temperature: 0.5, tool_choice: { type: "auto" } },
    goodCall: "\"input\":{\"command\":\"ls\"}",
    badCall: "\"input\":{}"
  },
  begin: [started],
  text: (...deltas) => [
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...deltas.map((text) => delta(0, { type: "text_delta", text })),
    { type: "content_block_stop", index: 0 }
  ],
  callBegin: (id, name, args, index = 0) => [
    { type: "content_block_start", index: index + 1, content_block: { type: "tool_use", id, name, input: {} } },
    delta(index + 1, { type: "input_json_delta", partial_json: args })
  ],
  callEnd: (_id, _name, _all, index = 0) => [{ type: "content_block_stop", index: index + 1 }],
  finish: (reason, usage) => [
    {
      type: "message_delta",
      delta: { stop_reason: reasons[reason], stop_sequence: null },
      usage: usage ?? { output_tokens: 0 }
    },
    { type: "message_stop" }
  ],
  usage: (input, output, cached = 0, reasoning = 0) => ({
    input_tokens: typeof input === "number" && typeof cached === "number" ? input - cached : input,
    output_tokens: output,
    cache_read_input_tokens: cached,
    output_tokens_details: { thinking_tokens: reasoning }
  })
}
