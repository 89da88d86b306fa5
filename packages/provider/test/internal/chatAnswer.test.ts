import { describe, expect, it } from "@effect/vitest"
import type { ModelEvent } from "@skein/core/Provider"
import { ChatAnswer } from "../../src/internal/chat/chatAnswer.ts"
import { BrokenStream, TooLarge, UnreadableChunk } from "../../src/internal/errors.ts"

const piece = (delta: unknown, finish_reason: unknown = null) => ({ choices: [{ index: 0, delta, finish_reason }] })
const call = (...tool_calls: ReadonlyArray<unknown>) => piece({ tool_calls })

/** What an answer of these chunks tells, and what is wrong with it. */
const read = (...chunks: ReadonlyArray<unknown>) => {
  const events: Array<ModelEvent> = []
  const answer = new ChatAnswer(7, (event) => events.push(event))
  const went = chunks.every((chunk) => answer.take(JSON.stringify(chunk)))
  const failure = went ? answer.end() : answer.failure
  return { events, failure, said: events.filter(({ type }) => type !== "activity") }
}

/** Identifier, name and arguments of the calls that these pieces make. */
const callsOf = (...chunks: ReadonlyArray<unknown>) =>
  read(...chunks, piece({}, "tool_calls")).events.flatMap((event) =>
    event.type === "tool-call" ? [[event.id, event.name, event.input]] : []
  )

describe("chatAnswer", () => {
  it("tells thoughts and text as parts of their own, in whatever field they come", () => {
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

  it("reads content in pieces, as Mistral tells it", () => {
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

  it("tells nothing of chunks without content, however many there are", () => {
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

  it("tells that arguments of a call arrive, and nothing of what repeats itself", () => {
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

  it("puts calls together by their index, whatever is repeated, late or missing", () => {
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

  it("tells calls in the order of their index, also those that come mixed", () => {
    const begin = (index: number) => ({ index, id: `id${index}`, function: { name: "f", arguments: "{" } })
    const end = (index: number) => ({ index, function: { arguments: "}" } })
    expect(callsOf(call(begin(1)), call(begin(0), end(1)), call(end(0)))).toEqual([
      ["id0", "f", "{}"],
      ["id1", "f", "{}"]
    ])
  })

  it("tells calls apart that all have the same index, or none", () => {
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
      // P15: identifiers that are missing are made up, those that are doubled are passed on.
      expect(callsOf(call(whole(undefined, "f", 1), whole("", "f", 2)))).toEqual([
        ["call_7_0", "f", "{\"x\":1}"],
        ["call_7_1", "f", "{\"x\":2}"]
      ])
      expect(callsOf(call(whole("a", "f", 1)), call(whole("a", "f", 2)))).toHaveLength(2)
    }
  })

  it("tells calls apart that have no arguments yet", () => {
    const named = (name: string) => call({ index: 0, function: { name } })
    expect(callsOf(named("f"), named("f"), named("g"))).toEqual([["call_7_0", "f", ""], ["call_7_1", "g", ""]])
  })

  it("ends a thought when a call begins", () => {
    const { events } = read(piece({ reasoning: "a" }), call({ index: 0, id: "a", function: { name: "f" } }))
    expect(events.slice(-2).map(({ type }) => type)).toEqual(["reasoning-end", "activity"])
  })

  it("goes on with the last call where a piece names none", () => {
    expect(callsOf(
      call({ id: "a", function: { name: "f", arguments: "{" } }),
      call({ function: { arguments: "}" } }),
      call({ id: "a", function: { arguments: " " } })
    )).toEqual([["a", "f", "{} "]])
  })

  it("takes arguments that are an object already", () => {
    expect(callsOf(call({ index: 0, id: "a", function: { name: "f", arguments: { x: 1 } } }))).toEqual([
      ["a", "f", "{\"x\":1}"]
    ])
  })

  it("P12: a call without a name is told without one", () => {
    expect(callsOf(call({ index: 0, id: "a", function: { name: "", arguments: "{}" } }))).toEqual([["a", "", "{}"]])
  })

  it.each([
    ["stop", "stop"],
    ["length", "length"],
    ["content_filter", "content-filter"],
    ["tool_calls", "tool-calls"],
    ["function_call", "tool-calls"],
    ["constructor", "other"],
    ["eos", "other"]
  ])("the reason %s is %s", (reason, finish) => {
    expect(read(piece({ content: "a" }), piece({}, reason)).said.at(-1)).toMatchObject({ type: "finish", finish })
  })

  it("a reason that is empty is none yet, and that of an error is an error", () => {
    expect(read(piece({ content: "a" }, "")).failure).toMatchObject({ reason: "bad_response" })
    expect(read(piece({ content: "a" }, "error")).failure).toBeInstanceOf(BrokenStream)
    expect(read(call({ index: 0, id: "a", function: { name: "f", arguments: "{}" } }))).toMatchObject({
      failure: { reason: "bad_response" },
      said: []
    })
    expect(read(piece({ role: "assistant", content: "" })).failure).toMatchObject({ reason: "empty_response" })
  })

  it("a refusal is text, and the reason is the filter", () => {
    const { said } = read(piece({ content: null, refusal: "No." }), piece({}, "stop"))
    expect(said.map((event) => "delta" in event ? event.delta : event.type)).toEqual([
      "text-start",
      "No.",
      "text-end",
      "finish"
    ])
    expect(said.at(-1)).toMatchObject({ finish: "content-filter" })
  })

  it("takes the last counts, wherever they come", () => {
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

  it("arguments that are nested too deeply are too much", () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000)
    const answer = new ChatAnswer(0, () => {})
    const chunk = `{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":${deep}}}]}}]}`
    expect(answer.take(chunk)).toBe(false)
    expect(answer.failure).toBeInstanceOf(TooLarge)
  })

  it("what has an error is one, and an error of null is none", () => {
    const chunk = { error: { message: "boom" }, choices: [] }
    expect(read(piece({ content: "a" }), chunk).failure).toEqual(chunk)
    expect(read({ ...piece({ content: "a" }, "stop"), error: null }).failure).toBeUndefined()
  })

  it("skips what an event of an unknown type says, whatever it is", () => {
    const answer = new ChatAnswer(0, () => {})
    expect(answer.take("now", "ping")).toBe(true)
    expect(answer.failure).toBeUndefined()
    expect(answer.take("now", "error")).toBe(false)
  })
})
