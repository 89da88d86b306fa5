import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { StorageError } from "@skein/core/StorageError"
import * as Task from "@skein/core/Task"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { childrenOf, root } from "./support/tree.ts"

const prompt = "You were created to handle: {task_description}. Only {task_description}!"

const asks = (description: string, more: Readonly<Record<string, unknown>> = {}) =>
  Scripted.call("task", { description, prompt: "Go", subagent_type: "worker", ...more })

/** The first line of the system prompts of an agent. */
const firstLines = ({ requests }: Scripted.Scripted, agent: string) =>
  requests.filter(({ origin }) => origin.path.at(-1) === agent).map(({ messages: [first] }) =>
    first?.role === "system" ? first.content.split("\n", 1)[0] : undefined
  )

const layer = (script: Scripted.Scripted) =>
  SkeinTest.layer(script, {
    agents: [SkeinTest.agent("worker", { prompt }), SkeinTest.agent("lead", { mode: "all", prompt })]
  })

const handles = (description: string) => `You were created to handle: ${description}. Only ${description}!`

describe("{task_description} in an agent's prompt", () => {
  it.effect("is the description of the task, and of the next run when it is resumed", () => {
    const script = Scripted.make({
      build: ({ messages, origin: { step } }) =>
        step === 0
          ? asks("Find the entry")
          : step === 1
          ? asks("Fix the entry", { task_id: /ses_\w+/.exec(JSON.stringify(messages.at(-1)))?.[0] ?? "" })
          : "ok",
      worker: ["found"]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      const [child] = yield* childrenOf(id)
      expect(firstLines(script, "worker")).toEqual([handles("Find the entry"), handles("Fix the entry")])
      // Prompted directly, it still has its last description.
      if (child !== undefined) yield* Session.prompt(child.id, "And?")
      expect(firstLines(script, "worker").at(-1)).toBe(handles("Fix the entry"))
    }).pipe(Effect.provide(layer(script)))
  })

  it.effect("is that of the current run, while another one waits for it", () => {
    const script = Scripted.make({
      build: ({ messages, origin: { step } }) =>
        step === 0
          ? asks("First", { background: true })
          : step === 1
          ? asks("Second", { background: true, task_id: /ses_\w+/.exec(JSON.stringify(messages.at(-1)))?.[0] ?? "" })
          : "ok",
      worker: [{ calls: [{ tool: "look", input: {} }], delay: { first: 1_000 } }, "one", "two"]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const session = yield* Session
      const turn = yield* Effect.fork(Effect.zipRight(session.prompt(id, "Go"), session.untilIdle(id)))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(turn)
      expect(firstLines(script, "worker")).toEqual([handles("First"), handles("First"), handles("Second")])
    }).pipe(Effect.provide(layer(script)))
  })

  for (const description of ["{task_description}", "costs $& and $1 and $$"]) {
    it.effect(`inserts ${description} literally`, () => {
      const script = Scripted.make({ build: [asks(description), "ok"], worker: ["found"] })
      return Effect.gen(function*() {
        const { id } = yield* root()
        yield* Session.prompt(id, "Go")
        expect(firstLines(script, "worker")).toEqual([handles(description)])
      }).pipe(Effect.provide(layer(script)))
    })
  }

  it.effect("is the title if there is no task: the first words of the prompt, until there is another", () => {
    const script = Scripted.make({ lead: ["ok"], title: ["Found entries"] })
    return Effect.gen(function*() {
      const session = yield* Session
      const { id } = yield* session.create({ directory: "/work", agent: "lead" })
      yield* session.prompt(id, "Where is the entry?\nI looked.")
      yield* session.rename(id, "The entry")
      yield* session.prompt(id, "And now?")
      expect(firstLines(script, "lead")).toEqual([handles("Where is the entry?"), handles("The entry")])
      yield* Task.run({ agent: "lead", prompt: "A long story", description: "A short one" })
      yield* Task.run({ agent: "lead", prompt: "A  story" })
      expect(firstLines(script, "lead").slice(2)).toEqual([handles("A short one"), handles("A story")])
    }).pipe(Effect.provide(layer(script)))
  })
})

it.effect("is there even while approvals cannot be read: rules alone decide that", () => {
  const full = new StorageError({ operation: "approvals", reason: "full", message: "The disk is full." })
  const storage = Layer.effect(
    SessionStorage,
    Effect.map(SessionStorage, (inner) => ({ ...inner, approvals: () => Effect.fail(full) }))
  ).pipe(Layer.provide(SessionStorage.layerMemory))
  const script = Scripted.make({ build: ["done"] })
  return Effect.gen(function*() {
    const { id } = yield* root()
    yield* Session.prompt(id, "Go")
    expect(script.requests[0]?.tools.find(({ name }) => name === "task")?.description).toContain("- worker: ")
  }).pipe(
    Effect.provide(SkeinTest.layer(script, { storage, agents: [SkeinTest.agent("worker")], rules: { task: "ask" } }))
  )
})
