import { describe, expect, it } from "@effect/vitest"
import type { PromptMessage } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import type { Part } from "@skein/domain/Part"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { callsMade, messagesOf, resultOf, root } from "./support/tree.ts"

const tools = [
  SkeinTest.tool("read", () => Effect.succeed("read it")),
  SkeinTest.tool("todo_write", () => Effect.succeed("wrote it")),
  SkeinTest.tool("todoread", () => Effect.succeed("listed it")),
  SkeinTest.tool("todo_read", () => Effect.succeed("listed it, too")),
  SkeinTest.tool("quiet", () => Effect.succeed("\r\n"))
]

const signature = { scripted: { signature: "SIG" } }

const isSigned = (message: PromptMessage) =>
  message.role === "assistant" &&
  message.content.some((part) => part.type === "reasoning" || part.providerOptions !== undefined)

const retriesOf = (parts: ReadonlyArray<Part>) => parts.filter((part) => part.type === "retry")

/** What a session's requests and calls were, after these prompts. */
const played = (build: Scripted.Script, ...prompts: ReadonlyArray<string>) => {
  const script = Scripted.make({ build })
  return Effect.gen(function*() {
    const session = yield* Session
    const { id } = yield* root()
    const prompting = yield* Effect.fork(Effect.forEach(prompts, (prompt) => session.prompt(id, prompt)))
    // A retry waits.
    yield* TestClock.adjust("1 hour")
    const turns = yield* Fiber.join(prompting)
    const parts = (yield* messagesOf(id)).flatMap((message) => message.parts)
    return { script, turns, calls: yield* callsMade(id), parts }
  }).pipe(Effect.provide(SkeinTest.layer(script, { tools })))
}

describe("what vendors send", () => {
  it.effect("blank text and blank results leave a session that a strict provider still answers", () =>
    Effect.gen(function*() {
      const blank: Scripted.ScriptedStep = { text: "\n\n", calls: [{ tool: "quiet", input: {} }] }
      const { script, turns } = yield* played([blank, "done"], "one", "two")
      expect(turns.map(({ text }) => text)).toEqual(["done", "done"])
      expect(script.requests.at(-1)?.messages.flatMap(({ content, role }) => role === "tool" ? content : []))
        .toMatchObject([{ output: { value: "(no output)" } }])
    }))

  it.effect("a refused signature is left out with its reasoning from then on, and the retry says so", () =>
    Effect.gen(function*() {
      const thought: Scripted.ScriptedStep = {
        reasoning: "Hm.",
        signature,
        calls: [{ tool: "read", input: {}, metadata: signature }]
      }
      let count = 0
      const { parts, script, turns } = yield* played(
        ({ messages }) => {
          if (count++ === 0) return thought
          return messages.some(isSigned) ? Scripted.fault("reasoning_refused", { status: 400 }) : "done"
        },
        "one",
        "two"
      )
      expect(turns.map(({ text }) => text)).toEqual(["done", "done"])
      // The first call, the refusal, its retry, and the next turn at once.
      expect(script.requests.map(({ messages }) => messages.some(isSigned))).toEqual([false, true, false, false])
      const [retry, ...more] = retriesOf(parts)
      expect(retry).toMatchObject({ error: { tag: "reasoning_refused", message: expect.stringContaining("left out") } })
      expect(more).toEqual([])
    }))

  it.effect("a signature that is refused without reasoning in the request fails at once", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(played([Scripted.fault("reasoning_refused")], "one"))
      expect(error).toMatchObject({ _tag: "ModelError", reason: "reasoning_refused" })
    }))

  it.effect("signatures of reasoning and calls go back as they came", () =>
    Effect.gen(function*() {
      const deep = { scripted: { any: [1, { deep: "x" }] } }
      const { script } = yield* played([
        { reasoning: "Hm.", signature: deep, calls: [{ tool: "read", input: {}, metadata: deep }] },
        "done"
      ], "one")
      const answer = script.requests.at(-1)?.messages.find(({ role }) => role === "assistant")
      expect(answer?.content).toMatchObject([
        { type: "reasoning", text: "Hm.", providerOptions: deep },
        { type: "tool-call", providerOptions: deep }
      ])
    }))

  it.effect("a call that the server did not accept is a tool error, which the model fixes", () =>
    Effect.gen(function*() {
      const bad = { tool: "read", raw: "{\"name\": \"read\", oops", fault: "The server did not accept this call." }
      const { calls, turns } = yield* played([{ calls: [bad] }, Scripted.call("read", {}), "done"], "one")
      expect(turns[0]?.text).toBe("done")
      expect(calls[0]?.state).toMatchObject({
        status: "error",
        error: { tag: "invalid_call", message: "The server did not accept this call." }
      })
      expect(resultOf(calls[1]!)).toBe("read it")
    }))

  it.effect("a paused answer continues, and is one answer", () =>
    Effect.gen(function*() {
      const { script, turns } = yield* played([Scripted.text("The end ", { finish: "pause" }), "is near."], "one")
      expect(turns[0]?.text).toBe("The end is near.")
      expect(script.requests).toHaveLength(2)
    }))

  it.effect("an answer that pauses forever fails, and says so", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(played([Scripted.text("wait", { finish: "pause" })], "one"))
      expect(error).toMatchObject({ _tag: "ModelError", reason: "bad_response" })
      expect(error.message).toContain("paused 11 times in a row")
    }))

  it.effect("the cost that a provider reports counts, and stays known if another answer has none", () =>
    Effect.gen(function*() {
      const script = Scripted.make({ build: [Scripted.text("a", { cost: "0.35" }), "b"] }, { price: undefined })
      yield* Effect.gen(function*() {
        const session = yield* Session
        const { id } = yield* root()
        yield* session.prompt(id, "one")
        expect((yield* session.get(id)).usage.own.cost).toBe("0.35")
        yield* session.prompt(id, "two")
        expect((yield* session.get(id)).usage).toMatchObject({ own: { cost: "0.35+" }, subtree: { cost: "0.35+" } })
      }).pipe(Effect.provide(SkeinTest.layer(script)))
    }))

  it.effect.each([
    ["Read", "read"],
    ["functions.read", "read"],
    ["default_api:read", "read"],
    ["TodoWrite", "todo_write"],
    ["functions.todo_write:0", "todo_write"],
    // Two tools fit.
    ["TodoRead", "TodoRead"],
    ["reader", "reader"]
  ])("the name %s means %s", ([written, meant]) =>
    Effect.gen(function*() {
      const { calls } = yield* played([Scripted.call(written!, {}), "done"], "one")
      expect(calls[0]?.tool).toBe(meant)
      expect(calls[0]?.state.status).toBe(written === meant ? "error" : "completed")
    }))
})
