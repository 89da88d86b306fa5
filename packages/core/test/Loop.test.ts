import { describe, expect, it } from "@effect/vitest"
import type { ModelRequest } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { asked } from "./support/said.ts"
import { callsMade, expectStill, messagesOf, resultOf, root, taskTools } from "./support/tree.ts"

const echo = SkeinTest.tool("echo", ({ words }) => Effect.succeed(`said ${String(words)}`))
const slow = SkeinTest.tool("slow", () => Effect.as(Effect.sleep(1_000), "at last"))

const systemOf = (request: ModelRequest | undefined): string => {
  const [first] = request?.messages ?? []
  return first?.role === "system" ? first.content : ""
}

describe("a turn", () => {
  it.effect("tells a model that wrote a call as text, twice at most, and ends with what it says then", () => {
    const written = "<tool_call>{\"name\": \"echo\", \"arguments\": {\"words\": \"a\"}}</tool_call>"
    const script = Scripted.make({
      build: [written, Scripted.call("echo", { words: "a" }), "the end", written, written, written]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      expect(yield* Session.prompt(id, "Go")).toMatchObject({ text: "the end", usage: { steps: 3, toolCalls: 1 } })
      expect(asked(script.requests[1]).at(-1)).toBe(
        "You wrote a call of echo as text, so nothing was run. If you need the tool, call it for real. "
          + "If not, answer without such markup."
      )
      expect(yield* Session.prompt(id, "Again")).toMatchObject({ text: written, usage: { steps: 3, toolCalls: 0 } })
    }).pipe(Effect.provide(SkeinTest.layer(script, { tools: [echo] })))
  })

  it.effect("continues until the model makes no more calls", () => {
    const script = Scripted.make({
      build: [Scripted.call("echo", { words: "a" }), Scripted.call("echo", { words: "b" }), "the end"]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const turn = yield* Session.prompt(id, "Go")
      expect(turn).toMatchObject({
        sessionID: id,
        text: "the end",
        end: "completed",
        usage: { steps: 3, toolCalls: 2 }
      })
      expect(turn.info).toMatchObject({ role: "assistant", agent: "build", providerID: "scripted", finish: "stop" })
      expect((yield* messagesOf(id)).map(({ info }) => info.role)).toEqual([
        "user",
        "assistant",
        "assistant",
        "assistant"
      ])
      expect(script.requests.map((request) => request.origin.step)).toEqual([0, 1, 2])
    }).pipe(Effect.provide(SkeinTest.layer(script, { tools: [echo] })))
  })

  it.effect("publishes what it does, in order, and ends idle", () => {
    const script = Scripted.make({ build: [{ text: "hello", pieces: 2 }] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const events = yield* record({ sessionID: id })
      yield* Session.prompt(id, "Go")
      const kinds = events.all.map((event) =>
        event.type === "session.status" ? event.properties.status.type : event.type
      )
      expect(kinds.filter((kind, i) => kind !== kinds[i - 1])).toEqual([
        "busy",
        "message.updated",
        "message.part.updated",
        "session.updated",
        "message.updated",
        "message.part.updated",
        "message.part.delta",
        "message.part.updated",
        "message.updated",
        "session.updated",
        "idle",
        "session.updated",
        "session.idle"
      ])
      expect(events.of("message.part.delta").map((event) => event.properties.delta).join("")).toBe("hello")
      expect(events.all.every((event, i) => i === 0 || (events.all[i - 1]?.id ?? "") < event.id)).toBe(true)
    }).pipe(Effect.scoped, Effect.provide(SkeinTest.layer(script)))
  })

  it.effect("returns the last text, trimmed", () => {
    const script = Scripted.make({ build: [{ text: "  \n the answer \n" }] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      expect((yield* Session.prompt(id, "Go")).text).toBe("the answer")
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })

  it.effect("is refused if there is nothing to answer", () =>
    Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      for (const nothing of ["", "  \n", [], [{ type: "text" as const, text: " " }]]) {
        expect((yield* Effect.flip(session.prompt(id, nothing)))._tag).toBe("PromptInvalid")
        expect((yield* Effect.flip(session.append(id, nothing)))._tag).toBe("PromptInvalid")
      }
      expect(yield* messagesOf(id)).toEqual([])
      expect((yield* Effect.flip(session.prompt(id, "Go", { agent: "nobody" }))).message).toContain("build")
      expect(yield* messagesOf(id)).toEqual([])
    }).pipe(Effect.provide(SkeinTest.layer({}))))

  it.effect("that fails is reported with its error, and the session continues", () => {
    const script = Scripted.make({ build: [Scripted.fault("auth", { message: "no key" }), "better"] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const events = yield* record({ sessionID: id })
      expect(yield* Effect.flip(Session.prompt(id, "Go"))).toMatchObject({ _tag: "ModelError", reason: "auth" })
      expect(events.of("session.error")).toMatchObject([
        { properties: { error: { tag: "ModelError", message: "no key" } } }
      ])
      expect(events.of("session.idle")).toHaveLength(1)
      yield* expectStill(id, script)
      expect((yield* Session.prompt(id, "Again")).text).toBe("better")
      expect(asked(script.requests[1])).toEqual(["Go|Again"])
    }).pipe(Effect.scoped, Effect.provide(SkeinTest.layer(script)))
  })

  it.effect("whose model is not available says how to fix that", () =>
    Effect.gen(function*() {
      const { id } = yield* root({ model: { providerID: "no", modelID: "such" } })
      expect(yield* Effect.flip(Session.prompt(id, "Go"))).toMatchObject({
        _tag: "ModelUnavailable",
        reason: "unknown_model",
        message: expect.stringContaining("scripted/model")
      })
    }).pipe(Effect.provide(SkeinTest.layer({}))))
})

describe("an empty answer", () => {
  const empties: Readonly<Record<string, Scripted.ScriptedStep>> = {
    "an end without text": { finish: "stop" },
    "an empty text": { text: "" },
    "announced calls that never arrive": { finish: "tool-calls" },
    "thoughts alone": { reasoning: "hmm" }
  }
  for (const [name, step] of Object.entries(empties)) {
    it.effect(`is requested once more and then is an error: ${name}`, () => {
      const script = Scripted.make({ build: [step] })
      return Effect.gen(function*() {
        const { id } = yield* root()
        const fiber = yield* Effect.fork(Effect.flip(Session.prompt(id, "Go")))
        yield* TestClock.adjust("1 hour")
        expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "ModelError", reason: "empty_response" })
        expect(script.requests).toHaveLength(2)
      }).pipe(Effect.provide(SkeinTest.layer(script)))
    })
  }

  it.effect("may succeed the second time", () => {
    const script = Scripted.make({ build: [{ text: "" }, "here it is"] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 hour")
      expect((yield* Fiber.join(fiber)).text).toBe("here it is")
      expect((yield* messagesOf(id)).filter(({ info }) => info.role === "assistant")).toHaveLength(1)
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })

  it.effect("that a filter removed is not requested again", () => {
    const script = Scripted.make({ build: [{ finish: "content-filter" }] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      expect((yield* Effect.flip(Session.prompt(id, "Go"))).message).toContain("content filter")
      expect(script.requests).toHaveLength(1)
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })
})

describe("a prompt while the session works", () => {
  it.effect("is taken at the next step, and both callers get the answer", () => {
    const script = Scripted.make({ build: [Scripted.call("slow", {}), "both answered"] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const one = yield* Effect.fork(Session.prompt(id, "one"))
      yield* TestClock.adjust(500)
      const two = yield* Effect.fork(Session.prompt(id, "two"))
      yield* TestClock.adjust("1 minute")
      expect((yield* one).text).toBe("both answered")
      expect((yield* two).info.id).toBe((yield* one).info.id)
      expect(script.requests).toHaveLength(2)
      expect(asked(script.requests[0])).toEqual(["one"])
      expect(asked(script.requests[1])).toEqual(["one", "two"])
    }).pipe(Effect.provide(SkeinTest.layer(script, { tools: [slow] })))
  })

  it.effect("that arrives with the last answer is answered too", () => {
    const script = Scripted.make({
      build: (request) => ({ text: `to ${asked(request).at(-1)}`, delay: { first: 1_000 } })
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const one = yield* Effect.fork(Session.prompt(id, "one"))
      yield* TestClock.adjust(500)
      const two = yield* Effect.fork(Session.prompt(id, "two"))
      yield* TestClock.adjust("1 minute")
      expect((yield* two).text).toBe("to two")
      expect((yield* one).text).toBe("to two")
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })
})

describe("an appended message", () => {
  it.effect("is kept for the next prompt, and not answered before", () => {
    const script = Scripted.make({ build: ["yes"] })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      yield* session.append(id, "By the way")
      yield* TestClock.adjust("1 hour")
      expect(script.requests).toHaveLength(0)
      yield* session.prompt(id, "Go")
      expect(asked(script.requests[0])).toEqual(["By the way|Go"])
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })

  it.effect("during the last answer starts no new step", () => {
    const script = Scripted.make({ build: [{ text: "yes", delay: { first: 1_000 } }] })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      const fiber = yield* Effect.fork(session.prompt(id, "Go"))
      yield* TestClock.adjust(500)
      yield* session.append(id, "By the way")
      yield* TestClock.adjust("1 hour")
      yield* Fiber.join(fiber)
      expect(script.requests).toHaveLength(1)
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })
})

describe("a prompt may set", () => {
  it.effect("the agent and the model from then on", () => {
    const script = Scripted.make({ "*": ["ok"] })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      yield* session.prompt(id, "Go", { agent: "plan", model: { providerID: "scripted", modelID: "model" } })
      yield* session.prompt(id, "On")
      expect(script.requests.map((request) => request.origin.path)).toEqual([["plan"], ["plan"]])
      expect(systemOf(script.requests[1])).toContain("plan mode")
      expect(yield* session.get(id)).toMatchObject({
        agent: "plan",
        model: { providerID: "scripted", modelID: "model" }
      })
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })

  it.effect("more system text and fewer tools, for its own turn", () => {
    const script = Scripted.make({ build: [Scripted.call("echo", {}), "ok"] })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* root()
      yield* session.prompt(id, "Go", { system: "Speak Latin.", tools: { echo: false, task: true } })
      yield* session.prompt(id, "On")
      const [first, second, third] = script.requests
      for (const request of [first, second]) {
        expect(systemOf(request)).toContain("Speak Latin.")
        expect(request?.tools.map((tool) => tool.name)).toEqual(["slow", ...taskTools])
      }
      expect((yield* callsMade(id)).map(resultOf)[0]).toContain("There is no tool \"echo\"")
      expect(systemOf(third)).not.toContain("Latin")
      expect(third?.tools.map((tool) => tool.name)).toEqual(["echo", "slow", ...taskTools])
    }).pipe(Effect.provide(SkeinTest.layer(script, { tools: [echo, slow] })))
  })

  it.effect("nothing else: directory and date stay in the system prompt", () => {
    const script = Scripted.make({ build: ["ok"] })
    return Effect.gen(function*() {
      yield* TestClock.setTime(Date.parse("2026-03-04T05:06:07Z"))
      const { id } = yield* root({ directory: "/somewhere" })
      yield* Session.prompt(id, "Go")
      expect(systemOf(script.requests[0])).toContain("Working directory: /somewhere\nDate: 2026-03-04")
    }).pipe(Effect.provide(SkeinTest.layer(script)))
  })
})
