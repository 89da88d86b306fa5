import { describe, expect, it } from "@effect/vitest"
import type { ModelEvent } from "@skein/core/Provider"
import { ChatAnswer } from "../../src/internal/chat/chatAnswer.ts"
import { BrokenStream, TooLarge, UnreadableChunk } from "../../src/internal/errors.ts"

const piece = (delta: unknown, finish_reason: unknown = null) => ({ choices: [{ index: 0, delta, finish_reason }] })
const call = (...tool_calls: ReadonlyArray<unknown>) => piece({ tool_calls })

/** The events of an answer with these chunks, and its error. */
const read = (...chunks: ReadonlyArray<unknown>) => {
  const events: Array<ModelEvent> = []
  const answer = new ChatAnswer(7, (event) => events.push(event))
  const went = chunks.every((chunk) => answer.take(JSON.stringify(chunk)))
  const failure = went ? answer.end() : answer.failure
  return { events, failure, said: events.filter(({ type }) => type !== "activity") }
}

/** Id, name and arguments of the calls in these pieces. */
const callsOf = (...chunks: ReadonlyArray<unknown>) =>
  read(...chunks, piece({}, "tool_calls")).events.flatMap((event) =>
    event.type === "tool-call" ? [[event.id, event.name, event.input]] : []
  )

describe("chatAnswer", () => {
  it("emits reasoning and text as separate parts, whatever the field", () => {
    const { said } = read(
      piece({ role: "assistant", reasoning_content: "a" }),
      piece({ reasoning: "b" }),
      piece({ content: "c" }),
      piece({ content: null, reasoning_content: null, refusal: null, tool_calls: null }),
      piece({ content: "d" }),
      piece({ reasoning: "e" }),
      piece({ reasoning: "f", content: "g" }, "stop")
    )
    expect(said).toEqual([
      { type: "reasoning-start", id: "reasoning-0" },
      { type: "reasoning-delta", id: "reasoning-0", delta: "a" },
      { type: "reasoning-delta", id: "reasoning-0", delta: "b" },
      { type: "reasoning-end", id: "reasoning-0" },
      { type: "text-start", id: "text-0" },
      { type: "text-delta", id: "text-0", delta: "c" },
      { type: "text-delta", id: "text-0", delta: "d" },
      { type: "text-end", id: "text-0" },
      { type: "reasoning-start", id: "reasoning-1" },
      { type: "reasoning-delta", id: "reasoning-1", delta: "e" },
      { type: "reasoning-delta", id: "reasoning-1", delta: "f" },
      { type: "reasoning-end", id: "reasoning-1" },
      { type: "text-start", id: "text-1" },
      { type: "text-delta", id: "text-1", delta: "g" },
      { type: "text-end", id: "text-1" },
      { type: "finish", finish: "stop", tokens: undefined }
    ])
  })

  it("reads content in pieces, in Mistral's format", () => {
    const { events } = read(
      piece({ content: [{ type: "thinking", thinking: [{ type: "text", text: "a" }, { type: "x" }] }] }),
      piece({ content: [{ type: "reference", reference_ids: [1] }] }),
      piece({ content: [{ type: "text", text: "b" }, { type: "text", text: "" }] }, "stop")
    )
    expect(events.map((event) => "delta" in event ? event.delta : event.type)).toEqual([
      "reasoning-start",
      "a",
      "reasoning-end",
      "text-start",
      "b",
      "text-end",
      "finish"
    ])
  })

  it("emits nothing for chunks without content, however many there are", () => {
    const { events } = read(
      { choices: [], prompt_filter_results: [] },
      piece({}),
      piece({ role: "assistant", content: "" }),
      piece({ content: null, reasoning_content: "", refusal: null, tool_calls: [] }),
      { usage: { prompt_tokens: 1 } },
      { choices: [], usage: { prompt_tokens: 1 } },
      piece({ content: "a" }),
      piece({}),
      piece({}, "stop")
    )
    expect(events.map(({ type }) => type)).toEqual(["text-start", "text-delta", "text-end", "finish"])
  })

  it("reports progress on call arguments, and ignores repetitions", () => {
    const again = call({ index: 0, id: "a", function: { name: "f", arguments: "" } })
    const { events } = read(
      again,
      call({ index: 0, function: { arguments: "{" } }),
      again,
      again,
      call({ index: 0, function: { arguments: "}" } }),
      piece({}, "tool_calls")
    )
    expect(events.map(({ type }) => type)).toEqual(["activity", "activity", "activity", "tool-call", "finish"])
  })

  it("assembles calls by their index, with repeated, late or missing fields", () => {
    const first = { index: 0, id: "a", function: { name: "f", arguments: "{\"x\"" } }
    const rest = { index: 0, function: { arguments: ":1}" } }
    const expected = [["a", "f", "{\"x\":1}"]]
    expect(callsOf(call(first), call(rest))).toEqual(expected)
    expect(callsOf(call(first), call({ ...rest, id: "a", function: { name: "f", arguments: ":1}" } }))).toEqual(
      expected
    )
    expect(callsOf(call(first), call({ ...rest, id: "b" }))).toEqual(expected)
    expect(callsOf(call(first), call({ ...rest, id: "", function: { name: " ", arguments: ":1}" } }))).toEqual(expected)
    expect(callsOf(call(first), call({ ...rest, id: "b", function: { name: "f", arguments: ":1}" } }))).toEqual(
      expected
    )
    expect(callsOf(
      call({ index: 0, function: { arguments: "{\"x\"" } }),
      call({ ...rest, id: "a" }),
      call({
        index: 0,
        function: { name: "f" }
      })
    )).toEqual(expected)
    expect(callsOf(call(first), call(rest), call({ index: 0 }), call({ index: 1, id: "", function: null }))).toEqual(
      expected
    )
  })

  it("emits calls in the order of their index, even if they arrive interleaved", () => {
    const begin = (index: number) => ({ index, id: `id${index}`, function: { name: "f", arguments: "{" } })
    const end = (index: number) => ({ index, function: { arguments: "}" } })
    expect(callsOf(call(begin(1)), call(begin(0), end(1)), call(end(0)))).toEqual([
      ["id0", "f", "{}"],
      ["id1", "f", "{}"]
    ])
  })

  it("separates calls that all have the same index, or none", () => {
    for (const index of [0, undefined, null]) {
      const whole = (id: string | undefined, name: string, x: number) => ({
        index,
        id,
        function: { name, arguments: `{"x":${x}}` }
      })
      expect(callsOf(call(whole("a", "f", 1)), call(whole("b", "f", 2)), call(whole("c", "g", 3)))).toEqual([
        ["a", "f", "{\"x\":1}"],
        ["b", "f", "{\"x\":2}"],
        ["c", "g", "{\"x\":3}"]
      ])
      // P15: missing ids are made up, and duplicate ones are passed on.
      expect(callsOf(call(whole(undefined, "f", 1), whole("", "f", 2)))).toEqual([
        ["call_7_0", "f", "{\"x\":1}"],
        ["call_7_1", "f", "{\"x\":2}"]
      ])
      expect(callsOf(call(whole("a", "f", 1)), call(whole("a", "f", 2)))).toHaveLength(2)
    }
  })

  it("separates calls that have no arguments yet", () => {
    const named = (name: string) => call({ index: 0, function: { name } })
    expect(callsOf(named("f"), named("f"), named("g"))).toEqual([["call_7_0", "f", ""], ["call_7_1", "g", ""]])
  })

  it("ends reasoning when a call begins", () => {
    const { events } = read(piece({ reasoning: "a" }), call({ index: 0, id: "a", function: { name: "f" } }))
    expect(events.slice(-2).map(({ type }) => type)).toEqual(["reasoning-end", "activity"])
  })

  it("continues the last call if a piece names none", () => {
    expect(callsOf(
      call({ id: "a", function: { name: "f", arguments: "{" } }),
      call({ function: { arguments: "}" } }),
      call({ id: "a", function: { arguments: " " } })
    )).toEqual([["a", "f", "{} "]])
  })

  it("accepts arguments that are already an object", () => {
    expect(callsOf(call({ index: 0, id: "a", function: { name: "f", arguments: { x: 1 } } }))).toEqual([
      ["a", "f", "{\"x\":1}"]
    ])
  })

  it("P12: emits a call without a name as such", () => {
    expect(callsOf(call({ index: 0, id: "a", function: { name: "", arguments: "{}" } }))).toEqual([["a", "", "{}"]])
  })

  it.each([
    ["stop", "stop"],
    ["length", "length"],
    ["content_filter", "content-filter"],
    ["tool_calls", "tool-calls"],
    ["function_call", "tool-calls"],
    ["STOP", "stop"],
    ["end_turn", "stop"],
    ["max_tokens", "length"],
    ["tool_use", "tool-calls"],
    ["pause_turn", "pause"],
    ["sensitive", "content-filter"]
  ])("the reason %s is %s", (reason, finish) => {
    expect(read(piece({ content: "a" }), piece({}, reason)).said.at(-1)).toMatchObject({ type: "finish", finish })
  })

  it.each(["network_error", "abort", "insufficient_system_resource", "constructor", "weird"])(
    "the reason %s breaks the answer off, and none of its calls runs",
    (reason) => {
      const { failure, said } = read(
        piece({ content: "a" }),
        call({ index: 0, id: "a", function: { name: "bash", arguments: "{}" } }),
        piece({}, reason)
      )
      expect(failure).toMatchObject({ reason: "bad_response", message: `it ended for the reason ${reason}` })
      expect(said.filter(({ type }) => type === "tool-call" || type === "finish")).toEqual([])
    }
  )

  it("an empty reason is none yet, and that of an error is an error", () => {
    expect(read(piece({ content: "a" }, "")).failure).toMatchObject({ reason: "bad_response" })
    expect(read(piece({ content: "a" }, "error")).failure).toBeInstanceOf(BrokenStream)
    expect(read(call({ index: 0, id: "a", function: { name: "f", arguments: "{}" } }))).toMatchObject({
      failure: { reason: "bad_response" },
      said: []
    })
    expect(read(piece({ role: "assistant", content: "" })).failure).toMatchObject({ reason: "empty_response" })
  })

  it("a refusal is text, with the content filter as the reason", () => {
    const { said } = read(piece({ content: null, refusal: "No." }), piece({}, "stop"))
    expect(said.map((event) => "delta" in event ? event.delta : event.type)).toEqual([
      "text-start",
      "No.",
      "text-end",
      "finish"
    ])
    expect(said.at(-1)).toMatchObject({ finish: "content-filter" })
  })

  it("uses the last counts, wherever they are", () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 },
      completion_tokens_details: null
    }
    const tokens = { input: 10, output: 5, reasoning: 0, cacheRead: 4, cacheWrite: 3 }
    const early = { ...piece({ content: "a" }), usage: { prompt_tokens: 10, completion_tokens: 1 } }
    expect(read(early, { ...piece({}, "stop"), usage }).said.at(-1)).toMatchObject({ tokens })
    expect(read(early, piece({}, "stop"), { choices: [], usage }, { choices: [], usage: null }).said.at(-1))
      .toMatchObject({ tokens })
    for (const bad of [{}, { prompt_tokens: "10", completion_tokens: 5 }, [], { prompt_tokens: null }]) {
      expect(read({ ...piece({ content: "a" }, "stop"), usage: bad }).said.at(-1)).toMatchObject({ tokens: undefined })
    }
  })

  it.each<unknown>([
    null,
    1,
    "text",
    [],
    { choices: null },
    { choices: {} },
    { choices: [null] },
    { choices: ["a"] },
    piece("a"),
    piece({ content: 1 }),
    piece({ content: { text: "a" } }),
    piece({ reasoning_content: ["a"] }),
    call(null),
    call("a"),
    call({ index: 0, id: 1, function: { name: "f" } }),
    call({ index: 0, function: { name: ["f"] } }),
    call({ index: 0, function: { name: "f", arguments: 1 } }),
    call({ index: 0, function: "f" })
  ])("a chunk %j has an unknown shape", (chunk) => {
    expect(read(piece({ content: "a" }), chunk, piece({}, "stop")).failure).toBeInstanceOf(UnreadableChunk)
  })

  it("deeply nested arguments are too large", () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000)
    const answer = new ChatAnswer(0, () => {})
    const chunk = `{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":${deep}}}]}}]}`
    expect(answer.take(chunk)).toBe(false)
    expect(answer.failure).toBeInstanceOf(TooLarge)
  })

  it("an error object is an error, and a null error is none", () => {
    const chunk = { error: { message: "boom" }, choices: [] }
    expect(read(piece({ content: "a" }), chunk).failure).toEqual(chunk)
    expect(read({ ...piece({ content: "a" }, "stop"), error: null }).failure).toBeUndefined()
  })

  it("skips events of unknown types, whatever they contain", () => {
    const answer = new ChatAnswer(0, () => {})
    expect(answer.take("now", "ping")).toBe(true)
    expect(answer.failure).toBeUndefined()
    expect(answer.take("now", "error")).toBe(false)
  })
})
