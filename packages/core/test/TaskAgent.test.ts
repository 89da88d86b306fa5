import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import type { PermissionConfig } from "@skein/domain/Rule"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { childrenOf, root } from "./support/tree.ts"

const own = { prompt: "You count words.", tools: ["look", "run"] }

const asks = (agent: unknown, more: Readonly<Record<string, unknown>> = {}) =>
  Scripted.call("task", { description: "Count words", prompt: "Go", subagent_type: "worker", agent, ...more })

const tools = [
  SkeinTest.tool("look", () => Effect.succeed("ok"), { permission: "read" }),
  SkeinTest.tool("run", () => Effect.succeed("ok"), { permission: "bash" }),
  SkeinTest.tool("change", () => Effect.succeed("ok"), { permission: "edit" })
]

const stack = (
  script: Scripted.Scripted,
  lead: PermissionConfig = { task: "allow", task_agent: "allow" },
  worker: PermissionConfig = {}
) =>
  SkeinTest.layer(script, {
    rules: { "*": "allow", task_agent: "deny" },
    tools,
    agents: [
      SkeinTest.agent("lead", { mode: "primary", permission: lead }),
      SkeinTest.agent("worker", { prompt: "Work", permission: worker })
    ]
  })

const of = ({ requests }: Scripted.Scripted, name: string) =>
  requests.filter(({ origin }) => origin.path.at(-1) === name && origin.purpose === "turn")

const system = (request: Scripted.Scripted["requests"][number] | undefined) =>
  request?.messages[0]?.role === "system" ? request.messages[0].content : ""

const offered = (request: Scripted.Scripted["requests"][number] | undefined) =>
  request?.tools.map(({ name }) => name) ?? []

const lastOf = (request: Scripted.Scripted["requests"][number] | undefined) => JSON.stringify(request?.messages.at(-1))

const run = (script: Scripted.Scripted, ...rules: [lead?: PermissionConfig, worker?: PermissionConfig]) =>
  Effect.gen(function*() {
    const { id } = yield* root({ agent: "lead" })
    yield* Session.prompt(id, "Go")
    return yield* childrenOf(id)
  }).pipe(Effect.provide(stack(script, ...rules)))

describe("a custom agent of the caller", () => {
  it.effect("replaces the prompt of the named agent, and has only the tools that it lists", () =>
    Effect.gen(function*() {
      const script = Scripted.make({
        lead: [asks(own), "done"],
        worker: [Scripted.call("change", {}), "counted"]
      })
      const children = yield* run(script)
      expect(JSON.stringify(of(script, "lead")[0]?.tools)).toContain("A custom agent for this task")
      const [first, second] = of(script, "worker")
      expect(system(first)).toMatch(
        /^You count words\.\n\nYou are a subagent: [^]*\n\nWork on facts[^]*\n\nWorking directory/
      )
      expect(system(first)).not.toContain("Work\n")
      expect(offered(first)).toEqual(["look", "run"])
      expect(lastOf(second)).toContain("There is no tool \\\"change\\\" here")
      expect(children).toMatchObject([{
        agent: "worker",
        prompt: { text: expect.stringContaining("You count words.") }
      }])
    }))

  it.effect("stays the agent of its session", () => {
    const script = Scripted.make({ lead: [asks(own), "done"], worker: ["one"], build: ["two"] })
    return Effect.gen(function*() {
      const { id } = yield* root({ agent: "lead" })
      yield* Session.prompt(id, "Go")
      const [child] = yield* childrenOf(id)
      yield* Session.prompt(child!.id, "And now?", { agent: "build" })
      const other = script.requests.findLast(({ origin }) => origin.path.at(-1) === "build")
      expect(system(other)).toMatch(/^You are Skein/)
      expect(system(other)).not.toContain("You count words.")
    }).pipe(Effect.provide(stack(script)))
  })

  it.effect("keeps its prompt and its tools when it is resumed, and accepts no others", () =>
    Effect.gen(function*() {
      const script = Scripted.make({
        lead: ({ messages, origin: { step } }) => {
          const task_id = /ses_\w+/.exec(JSON.stringify(messages))?.[0] ?? ""
          return step === 0
            ? asks(own)
            : step === 1
            ? asks({ prompt: "You are free." }, { task_id })
            : step === 2
            ? asks(undefined, { task_id })
            : "done"
        },
        worker: ["one", "two"]
      })
      yield* run(script)
      expect(lastOf(of(script, "lead")[2])).toContain("a resumed task keeps its agent")
      const requests = of(script, "worker")
      expect(requests).toHaveLength(2)
      expect(system(requests[1])).toContain("You count words.")
      expect(offered(requests[1])).toEqual(["look", "run"])
    }))

  it.effect("may do nothing that the named agent or the caller may not", () =>
    Effect.gen(function*() {
      const script = Scripted.make({
        lead: [asks({ ...own, tools: ["look", "run", "change"] }), "done"],
        worker: ["ok"]
      })
      yield* run(script, { task: "allow", task_agent: "allow", bash: "deny" }, { edit: "deny" })
      expect(offered(of(script, "worker")[0])).toEqual(["look"])
    }))

  it.effect("is neither offered nor created if the rules do not allow it, and by default they do not", () =>
    Effect.gen(function*() {
      const script = Scripted.make({ lead: [asks(own), "done"], worker: ["never"] })
      const children = yield* run(script, { task: "allow" })
      expect(JSON.stringify(of(script, "lead")[0]?.tools)).not.toContain("A custom agent for this task")
      expect(lastOf(of(script, "lead")[1])).toMatch(/denied/i)
      expect(children).toEqual([])
    }))

  it.effect.each<[string, unknown, string]>([
    ["without a prompt", { prompt: " " }, "task.agent.prompt must be a non-empty string"],
    [
      "with an unknown tool",
      { prompt: "You.", tools: ["fly"] },
      "task.agent.tools: there is no tool \\\"fly\\\"; tools: "
    ],
    ["with other keys", { prompt: "You.", permission: "allow" }, "task.agent.permission: is unexpected"]
  ])("is refused %s", ([, agent, message]) =>
    Effect.gen(function*() {
      const script = Scripted.make({ lead: [asks(agent), "done"], worker: ["never"] })
      expect(yield* run(script)).toEqual([])
      expect(lastOf(of(script, "lead")[1])).toContain(message)
    }))
})
