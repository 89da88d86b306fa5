/** Streams with values that no client knows yet, or that a server left out: nothing that Skein does not read ends an answer. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as OpenAiCompatible from "../src/OpenAiCompatible.ts"
import { chatWire } from "./support/chatWire.ts"
import { generateWire } from "./support/generateWire.ts"
import { messagesWire } from "./support/messagesWire.ts"
import { responsesWire } from "./support/responsesWire.ts"
import { ask, callsOf, finishOf, serve, sse, textOf } from "./support/Server.ts"
import type { Wire } from "./support/wireCase.ts"

type Frames = ReadonlyArray<unknown>

const answerOf = (wire: Wire, frames: Frames) =>
  Effect.gen(function*() {
    const server = yield* serve((response) => sse(response, ...frames).end())
    const vendor = yield* wire.vendor(server.url, Redacted.make("sk-test-SECRET"))
    return yield* ask(yield* vendor.model("m"))
  })

const block = (index: number, start: object, ...deltas: ReadonlyArray<object>) => [
  { type: "content_block_start", index, content_block: start },
  ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index }
]

const hi = block(1, { type: "text", text: "" }, { type: "text_delta", text: "hi" })

const stop = (delta: object, usage?: object, more: object = {}) => [
  { type: "message_delta", delta: { stop_reason: "end_turn", ...delta }, usage, ...more },
  { type: "message_stop" }
]

const started = (message: object) => ({ type: "message_start", message })

const usage = { input_tokens: 9, output_tokens: 3 }

const messages: Readonly<Record<string, Frames>> = {
  "a block of an unknown kind": [
    ...messagesWire.begin,
    ...block(0, { type: "mood", mood: "x" }, { type: "mood_delta" }, { type: "text_delta", text: "no" }),
    ...hi,
    ...stop({}, usage)
  ],
  "a delta of an unknown kind, and a citation": [
    ...messagesWire.begin,
    ...block(
      1,
      { type: "text", text: "" },
      { type: "mood_delta" },
      { type: "text_delta", text: "hi" },
      { type: "citations_delta", citation: { type: "new_location" } }
    ),
    ...stop({}, usage)
  ],
  "unknown details at the end": [
    ...messagesWire.begin,
    ...hi,
    ...stop({ container: { id: 1 }, stop_details: 3 }, { ...usage, iterations: [{ type: "new" }] }, {
      context_management: { applied_edits: [{ type: "new" }] }
    })
  ],
  "text in the beginning of a block": [
    ...messagesWire.begin,
    ...block(0, { type: "text", text: "h" }, { type: "text_delta", text: "i" }),
    ...stop({}, usage)
  ],
  "content in the beginning of the message": [
    started({ id: 1, content: [{ type: "text", text: "" }], usage: { input_tokens: 9 } }),
    ...hi,
    ...stop({}, { output_tokens: 3 })
  ],
  "no usage at the beginning": [started({}), ...hi, ...stop({}, usage)],
  "the usage after the reason": [...messagesWire.begin, ...hi, stop({})[0], ...stop({ stop_reason: null }, usage)]
}

const item = (more: object) => ({ type: "message", id: "msg_1", role: "assistant", content: [], ...more })

const said = (more: object = {}, ...between: Frames) => [
  { type: "response.output_item.added", output_index: 0, item: item(more) },
  { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "hi" },
  ...between,
  { type: "response.output_item.done", output_index: 0, item: item(more) }
]

const completed = (more: object = {}) => ({ type: "response.completed", response: { usage, ...more } })

const responses: Readonly<Record<string, Frames>> = {
  "an item of an unknown kind": [
    { type: "response.output_item.added", output_index: 3, item: { type: "mood" } },
    { type: "response.output_item.done", output_index: 3, item: { type: "mood" } },
    ...said(),
    completed()
  ],
  "an unknown phase, and no id": [...said({ phase: "analysis", id: undefined }), completed()],
  "an unknown annotation": [
    ...said({}, { type: "response.output_text.annotation.added", annotation: { type: "new_citation" } }),
    completed()
  ],
  "a beginning without a time": [{ type: "response.created", response: { id: "r" } }, ...said(), completed()],
  "unknown details at the end": [
    ...said(),
    completed({
      service_tier: { a: 1 },
      reasoning: { context: 4 },
      usage: { ...usage, input_tokens_details: { cached_tokens: "x" }, output_tokens_details: null }
    })
  ],
  "a summary of a reasoning that never began": [
    { type: "response.reasoning_summary_part.added", item_id: "rs_9", summary_index: 1 },
    { type: "response.reasoning_summary_text.delta", item_id: "rs_9", summary_index: 1, delta: "x" },
    ...said(),
    completed()
  ],
  "a message without deltas": [
    {
      type: "response.output_item.done",
      output_index: 0,
      item: item({ content: [{ type: "output_text", text: "hi", annotations: [] }] })
    },
    completed()
  ]
}

const parts = (...all: ReadonlyArray<object>) => ({ candidates: [{ content: { parts: all } }] })

const ended = (usageMetadata: object = { promptTokenCount: 9, candidatesTokenCount: 3 }) => ({
  candidates: [{ finishReason: "STOP" }],
  usageMetadata
})

const generate: Readonly<Record<string, Frames>> = {
  "a part of an unknown kind": [parts({ mood: { x: 1 } }, { text: "hi" }), ended()],
  "parts that are not as documented": [
    parts({ executableCode: { x: 1 } }, { inlineData: 3 }, { toolCall: {} }, { text: "hi", thoughtSignature: 3 }),
    ended()
  ],
  "unknown details of a candidate": [
    {
      candidates: [{
        content: { parts: [{ text: "hi" }] },
        safetyRatings: [{ category: 5 }],
        groundingMetadata: { groundingChunks: [{ web: {} }] },
        urlContextMetadata: { urlMetadata: [{}] }
      }]
    },
    ended()
  ],
  "unknown details of the usage": [
    parts({ text: "hi" }),
    ended({ promptTokenCount: 9, candidatesTokenCount: 3, serviceTier: 3, promptTokensDetails: [{ tokenCount: "9" }] })
  ]
}

const all = [["Messages", messagesWire, messages], ["Responses", responsesWire, responses], [
  "Generate",
  generateWire,
  generate
]] as const

describe.each(all)("%s", (_name, wire, cases) => {
  it.scoped.each(Object.entries(cases))("reads an answer with %s", ([, frames]) =>
    Effect.gen(function*() {
      const asked = yield* answerOf(wire, frames)
      expect(asked.error).toBeUndefined()
      expect(textOf(asked)).toBe("hi")
      expect(finishOf(asked)).toMatchObject({ finish: "stop", tokens: { input: 9, output: 3 } })
    }))

  it.scoped("does not know the tokens of an answer that says something and counts nothing", () =>
    Effect.gen(function*() {
      const asked = yield* answerOf(wire, [...wire.begin, ...wire.text("hi"), ...wire.finish("stop", wire.usage(9, 0))])
      expect(finishOf(asked)).toMatchObject({ finish: "stop", tokens: undefined })
    }))
})

describe("usage that is missing", () => {
  const unknown: ReadonlyArray<readonly [string, Wire, Frames]> = [
    ["everywhere", messagesWire, [started({}), ...hi, ...stop({})]],
    ["at the end", messagesWire, [...messagesWire.begin, ...hi, ...stop({})]],
    ["of the answer", messagesWire, [...messagesWire.begin, ...hi, ...stop({}, { input_tokens: 5 })]],
    ["of the prompt", messagesWire, [
      started({}),
      ...hi,
      ...stop({}, { output_tokens: 5, cache_read_input_tokens: 4 })
    ]],
    ["with everything else", responsesWire, [...said(), { type: "response.completed" }]],
    ["and a text in its place", generateWire, [
      parts({ text: "hi" }),
      ended({ promptTokenCount: "x", candidatesTokenCount: 3 })
    ]]
  ]
  it.scoped.each(unknown)("%s is unknown, and the answer counts", ([, wire, frames]) =>
    Effect.gen(function*() {
      const asked = yield* answerOf(wire, frames)
      expect(asked.error).toBeUndefined()
      expect(textOf(asked)).toBe("hi")
      expect(finishOf(asked)).toMatchObject({ finish: "stop", tokens: undefined })
    }))
})

describe("calls that are not as documented", () => {
  const read = { id: expect.any(String), name: "read", input: "{\"filePath\":\"a\"}" }
  const args = { filePath: "a" }
  const call = { type: "function_call", name: "read" }
  const odd: ReadonlyArray<readonly [string, Wire, Frames]> = [
    ["without an id, with arguments at once", messagesWire, [
      ...messagesWire.begin,
      ...block(0, { type: "tool_use", name: "read", input: args }),
      ...stop({ stop_reason: "tool_use" }, usage)
    ]],
    ["without ids, arguments only in deltas", responsesWire, [
      { type: "response.output_item.added", output_index: 0, item: call },
      { type: "response.function_call_arguments.delta", output_index: 0, delta: "{\"filePath\":" },
      { type: "response.function_call_arguments.delta", output_index: 0, delta: "\"a\"}" },
      { type: "response.output_item.done", output_index: 0, item: { ...call, status: "done" } },
      completed()
    ]],
    ["whole, and never begun", responsesWire, [
      { type: "response.output_item.done", output_index: 0, item: { ...call, arguments: JSON.stringify(args) } },
      completed()
    ]],
    ["with a number as id", generateWire, [parts({ functionCall: { id: 7, name: "read", args } }), ended()]]
  ]
  it.scoped.each(odd)("%s, are read", ([, wire, frames]) =>
    Effect.gen(function*() {
      const asked = yield* answerOf(wire, frames)
      expect(asked.error).toBeUndefined()
      expect(callsOf(asked)).toMatchObject([read])
      expect(finishOf(asked)).toMatchObject({ finish: "tool-calls" })
    }))

  const { begin, callBegin, text } = messagesWire
  const lost: ReadonlyArray<readonly [string, Wire, Frames]> = [
    ["Messages", messagesWire, [
      ...begin,
      ...text("Let me see."),
      ...callBegin("call_a", "read", "{\"filePath\":\"a\"}"),
      ...messagesWire.finish("tool_calls", usage)
    ]],
    ["Responses", responsesWire, [
      ...said(),
      ...responsesWire.callBegin("call_a", "read", "{\"filePath\":\"a\"}"),
      completed()
    ]]
  ]
  it.scoped.each(lost)(
    "without an end, make an answer of %s a bad one, as a whole",
    ([, wire, frames]) =>
      Effect.gen(function*() {
        const asked = yield* answerOf(wire, frames)
        expect(asked.error).toMatchObject({ reason: "bad_response", retryable: true })
        expect(asked.error?.message).toContain("a call in it has no end")
        expect(callsOf(asked)).toEqual([])
      })
  )
})

describe("errors in a stream", () => {
  const failed = (code: string) => ({ type: "response.failed", response: { error: { code, message: "No." } } })
  const first: ReadonlyArray<readonly [string, Wire, Frames, string, boolean]> = [
    ["a policy that forbids the prompt", responsesWire, [failed("cyber_policy")], "invalid_request", false],
    ["a failure without a reason", responsesWire, [{ type: "response.failed", response: {} }], "server", true],
    [
      "a refusal as the first event",
      messagesWire,
      [
        { type: "error", error: { type: "invalid_request_error", message: "No." } }
      ],
      "invalid_request",
      false
    ],
    [
      "an overload as the first event",
      messagesWire,
      [
        { type: "error", error: { type: "overloaded_error", message: "No." } }
      ],
      "overloaded",
      true
    ],
    [
      "a list of errors",
      generateWire,
      [[{ error: { code: 503, message: "No.", status: "UNAVAILABLE" } }]],
      "overloaded",
      true
    ],
    [
      "no room for the answer",
      messagesWire,
      [
        ...messagesWire.begin,
        ...hi,
        ...stop({ stop_reason: "model_context_window_exceeded" }, usage)
      ],
      "context_overflow",
      false
    ]
  ]
  it.scoped.each(first)("tells %s as such", ([, wire, frames, reason, retryable]) =>
    Effect.gen(function*() {
      const { error } = yield* answerOf(wire, frames)
      expect(error).toMatchObject({ reason, retryable })
      // The server had answered with 200.
      if (wire !== generateWire) expect(error?.status).toBeUndefined()
    }))

  it.scoped.each([
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "MISSING_THOUGHT_SIGNATURE",
    "TOO_MANY_TOOL_CALLS"
  ])(
    "names %s, with which Google ends an answer that went wrong",
    (finishReason) =>
      Effect.gen(function*() {
        const { error } = yield* answerOf(generateWire, [parts({ text: "half" }), { candidates: [{ finishReason }] }])
        expect(error).toMatchObject({ reason: "bad_response", retryable: true })
        expect(error?.message).toContain(finishReason)
      })
  )

  const spent: ReadonlyArray<readonly [string, Wire, Frames]> = [
    ["Google", generateWire, [{
      candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL" }],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 3 }
    }]],
    ["Anthropic", messagesWire, [
      ...messagesWire.begin,
      ...messagesWire.callBegin("a", "read", "{}"),
      ...stop({ stop_reason: "tool_use" }, usage)
    ]],
    ["a compatible server", chatWire((baseUrl) => OpenAiCompatible.make({ id: "corp", baseUrl })), [
      { choices: [{ index: 0, delta: { content: "hi" }, finish_reason: "error" }] },
      { choices: [], usage: { prompt_tokens: 9, completion_tokens: 3 } }
    ]]
  ]
  it.scoped.each(spent)("tells what a failed answer of %s used", ([, wire, frames]) =>
    Effect.gen(function*() {
      const asked = yield* answerOf(wire, frames)
      expect(asked.error?.reason).toBe("bad_response")
      expect(asked.events.filter(({ type }) => type === "usage")).toMatchObject([{ tokens: { input: 9, output: 3 } }])
      expect(finishOf(asked)).toBeUndefined()
    }))

  it.scoped("does not count an incomplete answer as a whole one, even without a reason", () =>
    Effect.gen(function*() {
      const asked = yield* answerOf(responsesWire, [...said(), { type: "response.incomplete", response: { usage } }])
      expect(finishOf(asked)).toBeUndefined()
      expect(asked.error).toMatchObject({ reason: "bad_response", retryable: true })
    }))
})
