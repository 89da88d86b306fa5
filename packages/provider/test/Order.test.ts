/** What a model says around its calls goes back in the order in which it came: signatures depend on it. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Anthropic from "../src/Anthropic.ts"
import * as OpenAi from "../src/OpenAi.ts"
import { messagesWire } from "./support/messagesWire.ts"
import { responsesWire } from "./support/responsesWire.ts"
import { ask, callsOf, serve, sse } from "./support/Server.ts"
import type { Wire } from "./support/wireCase.ts"
import { call } from "./support/wireCase.ts"

const apiKey = Redacted.make("sk-test-SECRET")

const answerOf = (wire: Wire, frames: ReadonlyArray<unknown>) =>
  Effect.gen(function*() {
    const server = yield* serve((response) => sse(response, ...frames).end())
    const vendor = yield* wire.vendor(server.url, apiKey)
    return yield* ask(yield* vendor.model("m"))
  })

const thinking = (index: number, signature: string) => [
  { type: "content_block_start", index, content_block: { type: "thinking", thinking: "" } },
  { type: "content_block_delta", index, delta: { type: "thinking_delta", thinking: `for ${signature}` } },
  { type: "content_block_delta", index, delta: { type: "signature_delta", signature } },
  { type: "content_block_stop", index }
]

const reasoning = (at: number, encrypted_content: string) => [
  { type: "response.output_item.added", output_index: at, item: { type: "reasoning", id: `rs_${at}` } },
  {
    type: "response.output_item.done",
    output_index: at,
    item: { type: "reasoning", id: `rs_${at}`, encrypted_content }
  }
]

const order = (events: ReadonlyArray<object>) =>
  events.flatMap((event) => {
    const { id, metadata, type } = event as { type: string; id?: string; metadata?: object }
    return type === "tool-call" ? [id] : metadata === undefined ? [] : [JSON.stringify(metadata)]
  })

describe("what a model says around its calls", () => {
  it.scoped("keeps its place, in Messages", () =>
    Effect.gen(function*() {
      const { error, events } = yield* answerOf(messagesWire, [
        ...messagesWire.begin,
        ...thinking(0, "ONE"),
        ...call(messagesWire, "call_a", "bash", "{}", 1),
        ...thinking(7, "TWO"),
        ...call(messagesWire, "call_b", "bash", "{}", 2),
        ...messagesWire.finish("tool_calls")
      ])
      expect(error).toBeUndefined()
      expect(order(events)).toEqual([
        "{\"anthropic\":{\"signature\":\"ONE\"}}",
        "call_a",
        "{\"anthropic\":{\"signature\":\"TWO\"}}",
        "call_b"
      ])
      expect(events.filter(({ type }) => type === "reasoning-delta")).toMatchObject([{ delta: "for ONE" }, {
        delta: "for TWO"
      }])
    }))

  it.scoped("keeps its place, in Responses", () =>
    Effect.gen(function*() {
      const { error, events } = yield* answerOf(responsesWire, [
        ...responsesWire.begin,
        ...reasoning(0, "ONE"),
        ...call(responsesWire, "call_a", "bash", "{}", 0),
        ...reasoning(2, "TWO"),
        ...call(responsesWire, "call_b", "bash", "{}", 2),
        ...responsesWire.finish("tool_calls")
      ])
      expect(error).toBeUndefined()
      const metadata = (id: string, reasoningEncryptedContent: string) =>
        JSON.stringify({ openai: { itemId: id, reasoningEncryptedContent } })
      expect(order(events)).toEqual([metadata("rs_0", "ONE"), "call_a", metadata("rs_2", "TWO"), "call_b"])
    }))

  it.scoped("is held back with the calls if the answer fails", () =>
    Effect.gen(function*() {
      const asked = yield* answerOf(messagesWire, [
        ...messagesWire.begin,
        ...call(messagesWire, "call_a", "bash", "{}", 0),
        ...thinking(7, "TWO")
      ])
      expect(asked.error?.reason).toBe("bad_response")
      expect(callsOf(asked)).toEqual([])
      expect(asked.events.filter(({ type }) => type === "activity").length).toBeGreaterThan(2)
    }))
})

describe("the phase of a message", () => {
  it.scoped("goes back to the model that said it", () =>
    Effect.gen(function*() {
      const item = { type: "message", id: "msg_1", phase: "commentary" }
      const { events } = yield* answerOf(responsesWire, [
        { type: "response.output_item.added", output_index: 0, item },
        { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, delta: "I look." },
        { type: "response.output_item.done", output_index: 0, item },
        ...responsesWire.finish("stop")
      ])
      const metadata = { openai: { phase: "commentary" } }
      expect(events).toContainEqual({ type: "text-end", id: "msg_1", metadata })
      const server = yield* serve((response) => response.writeHead(400).end())
      const vendor = yield* OpenAi.make({ baseUrl: server.url, apiKey, api: "responses" })
      const model = { providerID: "openai", modelID: "gpt-6.1-sol" }
      yield* ask(yield* vendor.model(model.modelID), {
        messages: [
          { role: "user", content: [{ type: "text", text: "?" }] },
          { role: "assistant", model, content: [{ type: "text", text: "I look.", providerOptions: metadata }] }
        ]
      })
      expect(JSON.parse(server.seen[0]?.body ?? "").input[1]).toEqual({
        role: "assistant",
        content: [{ type: "output_text", text: "I look." }],
        phase: "commentary"
      })
    }))
})

describe("the thinking of a conversation", () => {
  it.scoped("goes back to Anthropic in the place that it had among calls", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => response.writeHead(400).end())
      const vendor = yield* Anthropic.make({ baseUrl: server.url, apiKey })
      const model = { providerID: "anthropic", modelID: "claude-opus-5" }
      const thought = (signature: string) => ({
        type: "reasoning" as const,
        text: "",
        providerOptions: { anthropic: { signature } }
      })
      const called = (id: string) => ({ type: "tool-call" as const, toolCallId: id, toolName: "bash", input: {} })
      const result = (id: string) => ({
        type: "tool-result" as const,
        toolCallId: id,
        toolName: "bash",
        output: { type: "text" as const, value: "ok" }
      })
      yield* ask(yield* vendor.model(model.modelID), {
        messages: [
          { role: "user", content: [{ type: "text", text: "?" }] },
          { role: "assistant", model, content: [thought("ONE"), called("a"), thought("TWO"), called("b")] },
          { role: "tool", content: [result("a"), result("b")] }
        ]
      })
      expect(JSON.parse(server.seen[0]?.body ?? "").messages[1].content).toMatchObject([
        { type: "thinking", thinking: "", signature: "ONE" },
        { type: "tool_use", id: "a" },
        { type: "thinking", thinking: "", signature: "TWO" },
        { type: "tool_use", id: "b" }
      ])
    }))
})
