import { describe, expect, it } from "@effect/vitest"
import { builtins } from "@skein/core/Agent"
import { Session } from "@skein/core/Session"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { root } from "./support/tree.ts"

/** The system prompt of an agent: at the root, or as a subagent. */
const systemPrompt = (agent: ReturnType<typeof SkeinTest.agent>, place: "root" | "below") => {
  const task = Scripted.call("task", { description: "d", prompt: "p", subagent_type: agent.name })
  const script = Scripted.make({ build: [task, "done"], [agent.name]: ["done"] })
  return Effect.gen(function*() {
    const { id } = yield* root(place === "root" ? { agent: agent.name } : {})
    yield* Session.prompt(id, "Go", { system: "Answer in German." })
    const request = script.requests.find(({ origin }) => origin.path.at(-1) === agent.name)
    return request?.messages.flatMap((message) => message.role === "system" ? [message.content] : []).join("\n") ?? ""
  }).pipe(Effect.provide(SkeinTest.layer(script, { agents: [agent] })))
}

const role =
  /You are a subagent:[^]*one task[^]*final message is the result[^]*something is missing[^]*say so in the result/
const rules = "Work on facts"
const environment = "Working directory: /work"

describe("the system prompt", () => {
  it.effect.each(["You count words.", undefined])(
    "of a subagent has role, rules and environment: %s",
    (prompt) =>
      Effect.gen(function*() {
        const text = yield* systemPrompt(SkeinTest.agent("custom", { prompt }), "below")
        for (const part of [prompt ?? "", rules, environment]) expect(text).toContain(part)
        expect(text).toMatch(role)
        expect(text).not.toContain("You are Skein")
      })
  )

  it.effect.each(["You count words.", undefined])(
    "of a primary agent has rules and environment: %s",
    (prompt) =>
      Effect.gen(function*() {
        const text = yield* systemPrompt(SkeinTest.agent("custom", { mode: "primary", prompt }), "root")
        for (const part of [prompt ?? "You are an agent", rules, environment, "Answer in German."]) {
          expect(text).toContain(part)
        }
        expect(text).not.toMatch(role)
      })
  )

  it.effect("of an agent for both places contains its role only as a subagent", () =>
    Effect.gen(function*() {
      const agent = SkeinTest.agent("custom", { mode: "all", prompt: "You count words." })
      expect(yield* systemPrompt(agent, "root")).not.toMatch(role)
      expect(yield* systemPrompt(agent, "below")).toMatch(role)
    }))

  it.effect("is only the agent's own prompt if its definition says so", () =>
    Effect.gen(function*() {
      const agent = SkeinTest.agent("custom", { mode: "all", prompt: "You count words.", promptMode: "replace" })
      expect(yield* systemPrompt(agent, "below")).toBe("You count words.")
      expect(yield* systemPrompt(agent, "root")).toBe("You count words.\n\nAnswer in German.")
    }))

  it.effect.each(["general", "explore"])("of the built-in %s has its role", (name) =>
    Effect.gen(function*() {
      const agent = builtins.find((each) => each.name === name)
      expect(yield* systemPrompt(agent!, "below")).toMatch(role)
    }))

  it("of the coordinator explains background tasks, notifications, messages and stops", () => {
    const { prompt } = builtins.find(({ name }) => name === "coordinator") ?? {}
    for (const term of ["background: true", "<task-notification>", "task_message", "task_stop", "task_wait"]) {
      expect(prompt).toContain(term)
    }
  })
})
