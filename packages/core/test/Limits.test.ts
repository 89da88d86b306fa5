import { describe, expect, it } from "@effect/vitest"
import { Permission } from "@skein/core/Permission"
import type { ModelRequest } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { callsMade, childrenOf, expectStill, messagesOf, resultOf, root, treeOf } from "./support/tree.ts"

const echo = SkeinTest.tool("echo", ({ words }) => Effect.succeed(`said ${String(words)}`))
const other = SkeinTest.tool("other", () => Effect.succeed("other"))
const tools = [echo, other]

/** Prompts an agent that makes these calls one after the other, and returns the result of each. */
const circle = Effect.fnUntraced(function*(steps: ReadonlyArray<Scripted.ScriptedStep | string>, prompts = 1) {
  const script = Scripted.make({ build: [...steps, "done"] })
  return yield* Effect.gen(function*() {
    const { id } = yield* root()
    let end = ""
    for (let i = 0; i < prompts; i++) end = (yield* Session.prompt(id, `Go ${i}`)).end
    yield* expectStill(id, script)
    return { end, calls: (yield* callsMade(id)).map(resultOf), requests: script.requests.length }
  }).pipe(Effect.provide(SkeinTest.layer(script, { tools })))
})

const same = Scripted.call("echo", { words: "a", more: { x: 1, y: [1, 2] } })
const sameInOtherOrder = { calls: [{ tool: "echo", raw: "{\"more\": {\"y\":[1,2],\"x\":1}, \"words\":\"a\"}" }] }
const noted = "needs a person's consent"

describe("an agent that repeats itself", () => {
  it.effect("is stopped at the third identical call in a row", () =>
    Effect.gen(function*() {
      const { calls, end, requests } = yield* circle([same, same, same, same])
      expect(calls).toEqual(["said a", "said a", expect.stringContaining(noted)])
      expect(calls[2]).toContain("doom_loop (echo)")
      expect(end).toBe("denied")
      expect(requests).toBe(3)
    }))

  it.effect("is stopped even if every other question is allowed", () => {
    const script = Scripted.make({ build: [same, same, same, "done"] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      expect((yield* Session.prompt(id, "Go")).end).toBe("denied")
      expect((yield* callsMade(id)).map(resultOf)).toEqual(["said a", "said a", expect.stringContaining(noted)])
    }).pipe(Effect.provide(SkeinTest.layer(script, { tools, asks: "auto" })))
  })

  it.effect("is detected with the keys in another order", () =>
    Effect.gen(function*() {
      const { calls } = yield* circle([same, sameInOtherOrder, same])
      expect(calls[2]).toContain("doom_loop")
    }))

  it.effect("is stopped when it alternates between two calls", () =>
    Effect.gen(function*() {
      const a = Scripted.call("echo", { words: "a" })
      const b = Scripted.call("other", {})
      const { calls } = yield* circle([a, b, a, b, a, b, a])
      expect(calls.findIndex((each) => each.includes("doom_loop"))).toBe(5)
    }))

  it.effect("is detected when its calls cannot be parsed", () =>
    Effect.gen(function*() {
      const wrong = { calls: [{ tool: "echo", raw: "not json" }] }
      const { calls, end, requests } = yield* circle([wrong, wrong, wrong, wrong, wrong])
      expect(calls[2]).toContain("doom_loop")
      expect(end).toBe("denied")
      expect(requests).toBe(3)
    }))

  it.effect("is detected when it calls tools that do not exist", () =>
    Effect.gen(function*() {
      const { end, requests } = yield* circle(Array.from({ length: 8 }, () => Scripted.call("nothing", {})))
      expect(end).toBe("denied")
      expect(requests).toBe(3)
    }))

  it.effect("is detected when other agents of the session continue the loop", () => {
    const script = Scripted.make({ build: [same, "so far"], plan: [same, "so far"], other: [same] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      yield* Session.prompt(id, "Go on", { agent: "plan", from: "agent" })
      const end = yield* Session.prompt(id, "Go on", { agent: "other", from: "agent" })
      expect(end.end).toBe("denied")
      expect((yield* callsMade(id)).map(resultOf)[2]).toContain("doom_loop")
    }).pipe(
      Effect.provide(SkeinTest.layer(script, { tools, agents: [SkeinTest.agent("other", { mode: "all" })] }))
    )
  })

  it.effect("is detected across resumes of a task", () => {
    const script = Scripted.make({
      build: (request) => {
        const [id] = /ses_\w+/.exec(JSON.stringify(request.messages.filter(({ role }) => role === "tool"))) ?? []
        const input = { description: "d", prompt: `go ${request.origin.step}`, subagent_type: "worker" }
        if (request.origin.step === 3) return "done"
        return Scripted.call("task", id === undefined ? input : { ...input, task_id: id })
      },
      worker: [same, "so far", same, "so far", same, "so far"]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      const [child] = yield* childrenOf(id)
      expect((yield* callsMade(child?.id ?? id)).map(resultOf)[2]).toContain("doom_loop")
      expect((yield* callsMade(id)).map(resultOf)[2]).toContain("state: failed")
    }).pipe(Effect.provide(SkeinTest.layer(script, { tools, agents: [SkeinTest.agent("worker")] })))
  })

  it.effect("is detected when it requests the same task again under other labels", () =>
    Effect.gen(function*() {
      const again = (description: string) =>
        Scripted.call("task", { description, prompt: "Find it", subagent_type: "explore" })
      const script = Scripted.make({ build: [again("Try"), again("Retry"), again("Once more")], explore: ["no"] })
      const calls = yield* Effect.gen(function*() {
        const { id } = yield* root()
        expect((yield* Session.prompt(id, "Go")).end).toBe("denied")
        return (yield* callsMade(id)).map(resultOf)
      }).pipe(Effect.provide(SkeinTest.layer(script)))
      expect(calls[2]).toContain("doom_loop (task)")
      expect(script.requests.filter(({ origin }) => origin.path.length === 2)).toHaveLength(2)
    }))

  it.effect("is detected when agents delegate the same task down to one another", () => {
    const down = Scripted.call("task", { description: "d", prompt: "Do it", subagent_type: "worker" })
    const script = Scripted.make({ build: [down, "done"], worker: [down, "told"] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      expect((yield* Session.prompt(id, "Go")).text).toBe("done")
      const depths = script.requests.map(({ origin }) => origin.path.length)
      expect(Math.max(...depths)).toBe(5)
      const deepest = (yield* treeOf(id)).find(({ depth }) => depth === 4)
      expect((yield* callsMade(deepest?.id ?? id)).map(resultOf)[0]).toContain("doom_loop (task)")
      yield* expectStill(id, script)
    }).pipe(Effect.provide(SkeinTest.layer(script, {
      config: { limits: { subagent_depth: 8 } },
      agents: [SkeinTest.agent("worker", { permission: { task: "allow" } })]
    })))
  })

  it.effect("may do other things, and the same with other arguments", () =>
    Effect.gen(function*() {
      const others = ["a", "b", "c", "a", "a", "b", "b"].map((words) => Scripted.call("echo", { words }))
      const { calls, end } = yield* circle(others)
      expect(calls).toEqual(["a", "b", "c", "a", "a", "b", "b"].map((words) => `said ${words}`))
      expect(end).toBe("completed")
    }))

  it.effect("may poll the status of its tasks", () =>
    Effect.gen(function*() {
      const { calls, end } = yield* circle(Array.from({ length: 6 }, () => Scripted.call("task_status", {})))
      expect(calls).toEqual(Array.from({ length: 6 }, () => "You have started no tasks."))
      expect(end).toBe("completed")
    }))

  it.effect("continues when a person allows it, and reads the person's message", () => {
    const script = Scripted.make({ build: [same, same, same, same, "done"] })
    return Effect.gen(function*() {
      const permission = yield* Permission
      const { id } = yield* root()
      const events = yield* record()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      const first = yield* events.first("permission.asked")
      expect(first.properties).toMatchObject({ permission: "doom_loop", patterns: ["echo"], always: [] })
      yield* permission.reply(first.properties.id, "once")
      const second = yield* events.first("permission.asked", (event) => event.id !== first.id)
      yield* permission.reply(second.properties.id, "reject", { message: "Try something else." })
      expect((yield* Fiber.join(fiber)).text).toBe("done")
      expect((yield* callsMade(id)).map(resultOf)).toEqual([
        "said a",
        "said a",
        "said a",
        "Permission denied. The user says: Try something else."
      ])
    }).pipe(Effect.scoped, Effect.provide(SkeinTest.layer(script, { tools, asks: "person" })))
  })

  it.effect("is stopped with --auto too", () => {
    const script = Scripted.make({ build: [same, same, same, "done"] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      expect((yield* Session.prompt(id, "Go")).end).toBe("denied")
    }).pipe(Effect.provide(SkeinTest.layer(script, { tools, asks: "auto" })))
  })
})

describe("the limit of steps", () => {
  const limited = (steps: number) => [
    SkeinTest.agent("worker", { steps }),
    SkeinTest.agent("brief", { steps, mode: "primary" })
  ]
  const call = (words: string) => Scripted.call("echo", { words })

  it.effect("withholds the tools at the last step, tells the model, and says how the turn ended", () => {
    const script = Scripted.make({ brief: [call("a"), call("b"), "what I have"] })
    return Effect.gen(function*() {
      const { id } = yield* root({ agent: "brief" })
      const turn = yield* Session.prompt(id, "Go")
      expect(turn).toMatchObject({ end: "steps", text: "what I have", info: { error: { tag: "steps" } } })
      expect(turn.info.error?.message).toContain("limit of 3 steps")
      expect(script.requests.map((request) => request.tools.length > 0)).toEqual([true, true, false])
      expect(Scripted.lastText(script.requests[2]!)).toContain("limit of 3 steps")
      expect((yield* messagesOf(id)).filter(({ info }) => info.role === "user")).toHaveLength(1)
    }).pipe(Effect.provide(SkeinTest.layer(script, { tools, agents: limited(3) })))
  })

  it.effect("starts again in the next turn", () => {
    const script = Scripted.make({ brief: [call("a"), "one", call("b"), "two"] })
    return Effect.gen(function*() {
      const { id } = yield* root({ agent: "brief" })
      expect((yield* Session.prompt(id, "Go")).end).toBe("completed")
      expect((yield* Session.prompt(id, "On")).end).toBe("completed")
    }).pipe(Effect.provide(SkeinTest.layer(script, { tools, agents: limited(3) })))
  })

  it.effect("ends the turn even if the model continues to call tools", () => {
    const script = Scripted.make({ brief: [call("a"), { ...call("b"), text: "I will" }, call("c")] })
    return Effect.gen(function*() {
      const { id } = yield* root({ agent: "brief" })
      expect(yield* Session.prompt(id, "Go")).toMatchObject({ end: "steps", text: "I will" })
      expect((yield* callsMade(id)).map(resultOf)[1]).toContain(
        "There is no tool \"echo\" here. This answer may call no tool: conclude in text."
      )
      expect(script.requests).toHaveLength(2)
    }).pipe(Effect.provide(SkeinTest.layer(script, { tools, agents: limited(2) })))
  })

  it.effect("of a child ends its task, with its partial result", () => {
    const script = Scripted.make({ build: [Scripted.tasks({ worker: "a" }), "ok"], worker: [call("a"), "half of it"] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      const [task] = yield* callsMade(id)
      const [child] = yield* childrenOf(id)
      expect(task && resultOf(task)).toBe(
        `task_id: ${child?.id} (for resuming to continue this task if needed)\nstate: budget_exhausted\n\n`
          + "<task_error>\nThe agent worker reached its limit of 2 steps.\n</task_error>\n\n"
          + "<task_result>\nhalf of it\n</task_result>"
      )
    }).pipe(Effect.provide(SkeinTest.layer(script, { tools, agents: limited(2) })))
  })

  it.effect.each([["length", "its output limit"], ["content-filter", "a content filter"]] as const)(
    "of a provider that cuts a child's answer (%s) is told to the caller",
    ([finish, by]) => {
      const worker = { text: "half of it", finish }
      const script = Scripted.make({ build: [Scripted.tasks({ worker: "a" }), "ok"], worker: [worker] })
      return Effect.gen(function*() {
        const { id } = yield* root()
        yield* Session.prompt(id, "Go")
        const [task] = yield* callsMade(id)
        expect(task && resultOf(task)).toContain(
          `<task_result>\nhalf of it\n\n[This answer was cut off by ${by}. It may be incomplete.]\n</task_result>`
        )
      }).pipe(Effect.provide(SkeinTest.layer(script, { tools, agents: limited(2) })))
    }
  )

  it.effect("ends the turn if the model says nothing in the last step", () => {
    const script = Scripted.make({ brief: [{ ...call("a"), text: "so far" }, { finish: "stop" }] })
    return Effect.gen(function*() {
      const { id } = yield* root({ agent: "brief" })
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 minute")
      const turn = yield* fiber
      expect(turn).toMatchObject({ end: "steps", text: "", info: { error: { tag: "steps" } } })
      expect(turn.info.error?.message).toContain("limit of 2 steps")
    }).pipe(Effect.provide(SkeinTest.layer(script, { tools, agents: limited(2) })))
  })

  it.effect("of a silent child ends its task, with what it said before", () => {
    const script = Scripted.make({
      build: [Scripted.tasks({ worker: "a" }), "ok"],
      worker: [{ ...call("a"), text: "so far" }, { finish: "stop" }]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust("1 minute")
      yield* fiber
      const [task] = yield* callsMade(id)
      expect(task && resultOf(task)).toContain("state: budget_exhausted")
      expect(task && resultOf(task)).toContain("<task_result>\nso far\n</task_result>")
    }).pipe(Effect.provide(SkeinTest.layer(script, { tools, agents: limited(2) })))
  })

  it.effect("does not hide that a content filter ended the last step", () => {
    const script = Scripted.make({ brief: [{ finish: "content-filter" }] })
    return Effect.gen(function*() {
      const { id } = yield* root({ agent: "brief" })
      expect(yield* Effect.flip(Session.prompt(id, "Go"))).toMatchObject({
        _tag: "ModelError",
        finish: "content-filter"
      })
    }).pipe(Effect.provide(SkeinTest.layer(script, { tools, agents: limited(1) })))
  })

  it.effect("of subagents is `limits.subagent_steps` by default, and roots have none", () => {
    const more = (request: ModelRequest) =>
      request.tools.length === 0 || request.origin.step === 6 ? "what I have" : call(`${request.origin.step}`)
    const script = Scripted.make({
      build: [
        Scripted.tasks({ worker: "a" }, { own: "b" }),
        ...Array.from({ length: 5 }, (_, i) => call(`${i}`)),
        "ok"
      ],
      "build/worker": more,
      "build/own": more
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      expect((yield* Session.prompt(id, "Go")).end).toBe("completed")
      const [worker, own] = yield* callsMade(id)
      expect(worker && resultOf(worker)).toMatch(/reached its limit of \d+ steps/)
      expect(own && resultOf(own)).toContain("<task_result>\nwhat I have")
      expect(own && resultOf(own)).not.toContain("<task_error>")
      expect(script.requests.filter(({ origin }) => origin.path.at(-1) === "worker")).toHaveLength(4)
      expect(script.requests.filter(({ origin }) => origin.path.at(-1) === "own")).toHaveLength(7)
    }).pipe(Effect.provide(SkeinTest.layer(script, {
      tools,
      agents: [SkeinTest.agent("worker"), SkeinTest.agent("own", { steps: 8 })],
      config: { limits: { subagent_steps: 4 } }
    })))
  })

  it.effect("answers a prompt that arrived meanwhile in a new turn", () => {
    const script = Scripted.make({ brief: [{ text: "first", delay: { first: 1_000 } }, "second"] })
    return Effect.gen(function*() {
      const { id } = yield* root({ agent: "brief" })
      const one = yield* Effect.fork(Session.prompt(id, "one"))
      yield* TestClock.adjust(500)
      const two = yield* Effect.fork(Session.prompt(id, "two"))
      yield* TestClock.adjust("1 minute")
      expect((yield* one).text).toBe("first")
      expect((yield* two).text).toBe("second")
    }).pipe(Effect.provide(SkeinTest.layer(script, { tools, agents: limited(1) })))
  })
})
