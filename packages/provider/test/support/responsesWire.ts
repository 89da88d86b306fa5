import * as OpenAi from "../../src/OpenAi.ts"
import type { Wire } from "./wireCase.ts"

const response = (extra: object = {}) => ({
  id: "resp_1",
  object: "response",
  created_at: 1_700_000_000,
  model: "m",
  status: "in_progress",
  output: [],
  ...extra
})

const message = { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [] }

/** The Responses API. */
export const responsesWire: Wire = {
  path: "/v1/responses",
  vendor: (baseUrl, apiKey) => OpenAi.make({ baseUrl, apiKey, api: "responses" }),
  keyHeader: ["authorization", "Bearer "],
  outputCap: "max_output_tokens",
  request: {
    fixed: { model: "m", stream: true, temperature: 0.5, tool_choice: "auto" },
    goodCall: JSON.stringify("{\"command\":\"ls\"}"),
    badCall: "\"arguments\":\"{}\""
  },
  begin: [{ type: "response.created", sequence_number: 0, response: response() }],
  text: (...deltas) => [
    { type: "response.output_item.added", output_index: 0, item: { ...message, status: "in_progress" } },
    ...deltas.map((delta) => ({
      type: "response.output_text.delta",
      item_id: message.id,
      output_index: 0,
      content_index: 0,
      delta
    })),
    { type: "response.output_item.done", output_index: 0, item: message }
  ],
  callBegin: (id, name, args, index = 0) => [
    {
      type: "response.output_item.added",
      output_index: index + 1,
      item: { type: "function_call", id: `fc_${index}`, call_id: id, name, arguments: "", status: "in_progress" }
    },
    { type: "response.function_call_arguments.delta", item_id: `fc_${index}`, output_index: index + 1, delta: args }
  ],
  callEnd: (id, name, args, index = 0) => [
    {
      type: "response.output_item.done",
      output_index: index + 1,
      item: { type: "function_call", id: `fc_${index}`, call_id: id, name, arguments: args, status: "completed" }
    }
  ],
  finish: (reason, usage) =>
    reason === "length"
      ? [{
        type: "response.incomplete",
        response: response({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, usage })
      }]
      : [{ type: "response.completed", response: response({ status: "completed", usage }) }],
  usage: (input, output, cached = 0, reasoning = 0) => ({
    input_tokens: input,
    output_tokens: output,
    input_tokens_details: { cached_tokens: cached },
    output_tokens_details: { reasoning_tokens: reasoning }
  })
}
