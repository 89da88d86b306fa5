import { describe, expect, it } from "@effect/vitest"
import { type ModelEvent, type ModelRequest, type PromptMessage, Provider } from "@skein/core/Provider"
import { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"

const user = (text: string): PromptMessage => ({ role: "user", content: [{ type: "text", text }] })

const request = (path: string, more: Partial<ModelRequest> = {}, session = "ses_1"): ModelRequest => ({
  messages: [user("Go")],
  tools: [],
  toolChoice: "auto",
  origin: {
    sessionID: SessionID.make(session),
    rootID: SessionID.make("ses_1"),
    path: path.split("/"),
    step: 0,
    directory: "/work",
    purpose: "turn"
  },
  ...more
})

/** The events of a model, each with its time; or its error. */
const ask = Effect.fnUntraced(function*(script: Scripted.Scripted, asked: ModelRequest) {
  const clock = yield* Effect.clock
  const recorded: Array<readonly [number, ModelEvent]> = []
  const end = yield* Effect.either(
    script.model.stream(asked, (event) => recorded.push([clock.unsafeCurrentTimeMillis(), event]))
  )
  const text = recorded.flatMap(([, event]) => event.type === "text-delta" ? [event.delta] : []).join("")
  return { recorded, text, error: Either.isLeft(end) ? end.left : undefined, at: yield* Clock.currentTimeMillis }
})

const texts = (script: Scripted.Scripted, ...asked: ReadonlyArray<ModelRequest>) =>
  Effect.map(Effect.forEach(asked, (each) => ask(script, each)), (all) => all.map((each) => each.text))

describe("a script", () => {
  it.effect("is found by the longest matching end of the agent path", () => {
    const script = Scripted.make({ worker: ["w"], "lead/worker": ["lw"], "build/lead/worker": ["blw"], "*": ["any"] })
    return Effect.gen(function*() {
      const paths = ["worker", "plan/worker", "plan/lead/worker", "build/lead/worker", "build"]
      expect(yield* texts(script, ...paths.map((path) => request(path)))).toEqual(["w", "w", "lw", "blw", "any"])
    })
  })

  it.effect("advances step by step for each session separately, and repeats its last step", () => {
    const script = Scripted.make({ build: ["one", Scripted.text("two")] })
    return Effect.gen(function*() {
      const [a, b] = [request("build"), request("build", {}, "ses_2")]
      expect(yield* texts(script, a, b, a, a, b)).toEqual(["one", "one", "two", "two", "two"])
      expect(script.requests).toEqual([a, b, a, a, b])
    })
  })

  it.effect("may be a function of the request, or an effect of it", () => {
    const script = Scripted.make({
      plain: (asked) => `You said ${Scripted.lastText(asked)}`,
      slow: () => Effect.delay(Effect.succeed("at last"), 50)
    })
    return Effect.gen(function*() {
      expect(yield* texts(script, request("plain", { messages: [user("hi")] }))).toEqual(["You said hi"])
      const fiber = yield* Effect.fork(ask(script, request("slow")))
      yield* TestClock.adjust(50)
      expect((yield* Fiber.join(fiber)).text).toBe("at last")
    })
  })

  it.effect("that is missing is an error with the existing names", () =>
    Effect.gen(function*() {
      const { error } = yield* ask(Scripted.make({ build: ["x"] }), request("lead/worker"))
      expect(error).toMatchObject({ reason: "invalid_request", retryable: false })
      expect(error?.message).toBe("The script has no entry for lead/worker. Entries: build.")
    }))

  it.effect("is not needed for titles and summaries", () => {
    const script = Scripted.make({})
    const title = request("title", {})
    return Effect.gen(function*() {
      const asked = { ...title, origin: { ...title.origin, purpose: "title" as const } }
      expect(yield* texts(script, asked)).toEqual(["A title"])
      expect(yield* texts(Scripted.make({ title: ["Mine"] }), asked)).toEqual(["Mine"])
      const summary = { ...title, origin: { ...title.origin, purpose: "summary" as const } }
      expect(yield* texts(script, summary)).toEqual(["A summary"])
      expect(yield* texts(Scripted.make({ summary: ["Ours"] }), summary)).toEqual(["Ours"])
      const compaction = { ...title, origin: { ...title.origin, purpose: "compaction" as const } }
      expect(yield* texts(script, compaction)).toEqual(["What was said."])
    })
  })
})

describe("a step", () => {
  it.effect("takes the given time", () =>
    Effect.gen(function*() {
      const step = { text: "abcdef", pieces: 3, delay: { connect: 100, first: 20, between: 7 } }
      const fiber = yield* Effect.fork(ask(Scripted.make({ build: [step] }), request("build")))
      yield* TestClock.adjust("1 minute")
      const { recorded } = yield* Fiber.join(fiber)
      expect(recorded.map(([at, event]) => [at, event.type])).toEqual([
        [100, "connected"],
        [120, "text-start"],
        [120, "text-delta"],
        [127, "text-delta"],
        [134, "text-delta"],
        [141, "text-end"],
        [141, "finish"]
      ])
    }))

  it.effect("makes calls, with arguments that need not be JSON", () =>
    Effect.gen(function*() {
      const step = { calls: [{ tool: "bash", input: { command: "ls" } }, { tool: "bash", raw: "{\"comm", id: "mine" }] }
      const { recorded } = yield* ask(Scripted.make({ build: [step] }), request("build"))
      expect(recorded.slice(1).map(([, event]) => event)).toMatchObject([
        { type: "tool-call", id: "call_0", name: "bash", input: "{\"command\":\"ls\"}" },
        { type: "tool-call", id: "mine", name: "bash", input: "{\"comm" },
        { type: "finish", finish: "tool-calls" }
      ])
    }))

  it.effect("can fail after some content, as retryable as such an error is", () =>
    Effect.gen(function*() {
      const script = Scripted.make({
        build: [
          Scripted.fault("rate_limit", { retryAfter: 5, status: 429 }, { text: "so far" }),
          Scripted.fault("auth"),
          Scripted.fault("auth", { retryable: true })
        ]
      })
      const asked = [
        yield* ask(script, request("build")),
        yield* ask(script, request("build")),
        yield* ask(script, request("build"))
      ]
      expect(asked.map(({ error }) => error)).toMatchObject([
        { reason: "rate_limit", retryable: true, retryAfter: 5, status: 429 },
        { reason: "auth", retryable: false },
        { reason: "auth", retryable: true }
      ])
      expect(asked[0]?.text).toBe("so far")
      expect(asked[0]?.recorded.some(([, event]) => event.type === "finish")).toBe(false)
    }))

  it.effect("can hang after some content, until it is interrupted", () => {
    const script = Scripted.make({ build: [{ text: "so far", hangs: true }] })
    return Effect.gen(function*() {
      const fibers = yield* Effect.all([
        Effect.fork(ask(script, request("build"))),
        Effect.fork(ask(script, request("build")))
      ])
      yield* TestClock.adjust("1 day")
      expect(script.open).toEqual({ now: 2, most: 2 })
      yield* Fiber.interruptAll(fibers)
      expect(script.open).toEqual({ now: 0, most: 2 })
    })
  })
})

describe("several scripted models", () => {
  it.effect("make one provider", () => {
    const one = Scripted.make({ "*": ["one"] }, { modelID: "one" })
    const two = Scripted.make({ "*": ["two"] }, { providerID: "other", modelID: "two" })
    return Effect.gen(function*() {
      const provider = yield* Provider
      expect((yield* provider.list).map((model) => `${model.providerID}/${model.modelID}`)).toEqual([
        "scripted/one",
        "other/two"
      ])
      expect((yield* provider.resolve({ providerID: "other", modelID: "two" })).info.modelID).toBe("two")
    }).pipe(Effect.provide(Provider.layerModels([one.model, two.model])))
  })
})

describe("a request that a strict provider refuses", () => {
  const call = (toolCallId: string, input: unknown = {}, toolName = "bash") =>
    ({ type: "tool-call", toolCallId, toolName, input }) as const
  const assistant = (...content: Extract<PromptMessage, { role: "assistant" }>["content"]): PromptMessage => ({
    role: "assistant",
    content
  })
  const results = (...ids: ReadonlyArray<string>): PromptMessage => ({
    role: "tool",
    content: ids.map((toolCallId) => ({
      type: "tool-result",
      toolCallId,
      toolName: "bash",
      output: { type: "text", value: "ok" }
    }))
  })
  const blank: PromptMessage = {
    role: "tool",
    content: [{ type: "tool-result", toolCallId: "1", toolName: "bash", output: { type: "text", value: "\n" } }]
  }
  const said = { type: "text", text: "hm" } as const
  const spec = { name: "bash", description: "", inputSchema: { type: "object" } }

  const wrong: ReadonlyArray<readonly [string, Partial<ModelRequest>]> = [
    ["neither the user's nor a result", { messages: [] }],
    ["neither the user's nor a result", { messages: [user("a"), assistant(said)] }],
    ["two messages of the user follow each other", { messages: [user("a"), user("b")] }],
    ["two messages of the assistant follow each other", {
      messages: [user("a"), assistant(said), assistant(said), user("b")]
    }],
    ["begins with an answer", { messages: [assistant(said), user("b")] }],
    ["a system message stands inside", { messages: [user("a"), { role: "system", content: "x" }] }],
    ["a message of the user is empty", { messages: [{ role: "user", content: [] }] }],
    ["the system message is blank", { messages: [{ role: "system", content: " " }, user("a")] }],
    ["a text is blank", { messages: [user("")] }],
    ["a text is blank", { messages: [user(" \n")] }],
    ["a text is blank", { messages: [user("a"), assistant({ type: "text", text: " " }), user("b")] }],
    ["a result is blank", { messages: [user("a"), assistant(call("1")), blank] }],
    ["nothing but reasoning", { messages: [user("a"), assistant({ type: "reasoning", text: "x" }), user("b")] }],
    ["a call has no result", { messages: [user("a"), assistant(call("1")), user("b")] }],
    ["results of 1 follow calls of 1,2", { messages: [user("a"), assistant(call("1"), call("2")), results("1")] }],
    ["results of 2,1 follow calls of 1,2", {
      messages: [user("a"), assistant(call("1"), call("2")), results("2", "1")]
    }],
    ["results of 1 follow calls of", { messages: [user("a"), results("1")] }],
    ["empty or used twice", {
      messages: [user("a"), assistant(call("1")), results("1"), assistant(call("1")), results("1")]
    }],
    ["empty or used twice", { messages: [user("a"), assistant(call("")), results("")] }],
    ["is not a name of a tool", { messages: [user("a"), assistant(call("1", {}, "a b")), results("1")] }],
    ["the input of a call is not an object", { messages: [user("a"), assistant(call("1", "ls")), results("1")] }],
    ["not well-formed", { messages: [user("\ud800")] }],
    ["has no proper name", { tools: [{ ...spec, name: "a.b" }] }],
    ["takes no object", { tools: [{ ...spec, inputSchema: { type: "string" } }] }],
    ["two tools have one name", { tools: [spec, spec] }]
  ]
  for (const [why, asked] of wrong) {
    it.effect(`is refused: ${why}`, () =>
      Effect.gen(function*() {
        const { error } = yield* ask(Scripted.make({ build: ["x"] }), request("build", asked))
        expect(error).toMatchObject({ reason: "invalid_request", status: 400 })
        expect(error?.message).toContain(why)
      }))
  }

  it.effect("is not refused if it is valid", () =>
    Effect.gen(function*() {
      const messages: ReadonlyArray<PromptMessage> = [
        { role: "system", content: "x" },
        user("a"),
        assistant(said, call("1"), call("2")),
        results("1", "2"),
        assistant(said),
        user("b €")
      ]
      expect((yield* ask(Scripted.make({ build: ["x"] }), request("build", { messages, tools: [spec] }))).error)
        .toBeUndefined()
    }))
})
