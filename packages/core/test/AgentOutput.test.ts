import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { Tasks } from "@skein/core/Tasks"
import type { SessionID } from "@skein/domain/Id"
import type { JsonSchema } from "@skein/domain/JsonSchema"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { callsMade, childrenOf, outcomeOf, resultOf, root } from "./support/tree.ts"

const entry: JsonSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: { file: { type: "string" }, line: { $ref: "#/$defs/line" } },
  required: ["file"],
  additionalProperties: false,
  $defs: { line: { type: "integer", minimum: 1 } }
}

const finder = SkeinTest.agent("finder", { output: entry, mode: "all" })
const answer = (value: unknown) => Scripted.call("final_answer", { answer: value })
const right = { file: "bin.ts", line: 3 }
const task = Scripted.call("task", { description: "d", prompt: "Where?", subagent_type: "finder" })
const withAgents = (scripts: SkeinTest.Scripts, agent = finder) =>
  Effect.provide(
    SkeinTest.layer(scripts, { agents: [agent, SkeinTest.agent("lead", { permission: { task: "allow" } })] })
  )

const wrapped = (text: string) =>
  `(for resuming to continue this task if needed)\n\n<task_result>\n${text}\n</task_result>`

describe("a task of an agent whose definition has an output", () => {
  it.effect("returns JSON of that schema, which the model sees", () => {
    const script = Scripted.make({ build: [task, "ok"], finder: [{ ...answer(right), text: "I have it." }] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      expect(resultOf((yield* callsMade(id))[0]!)).toContain(wrapped("{\"file\":\"bin.ts\",\"line\":3}"))
      const asked = script.requests.find(({ origin }) => origin.path.at(-1) === "finder")
      const { $schema: _, ...shown } = entry
      expect(asked?.tools.find(({ name }) => name === "final_answer")?.inputSchema).toMatchObject({
        properties: {
          answer: { ...shown, properties: { file: {}, line: { $ref: "#/properties/answer/$defs/line" } } }
        },
        required: ["answer"]
      })
    }).pipe(withAgents(script))
  })

  it.effect("lets the model correct its answer, and says where it is wrong", () => {
    const script = Scripted.make({
      build: [task, "ok"],
      finder: [answer({ file: "bin.ts", line: 0 }), answer({ line: 3, more: 1 }), "bin.ts:3", answer(right)]
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      const [child] = yield* childrenOf(id)
      const [first, second] = (yield* callsMade(child!.id)).map(resultOf)
      expect(first).toBe("invalid arguments for final_answer: final_answer.answer.line: 0 is less than 1.")
      expect(second).toContain("final_answer.answer: Instance does not have required property \"file\".")
      expect(second).toContain("\"more\"")
      expect(resultOf((yield* callsMade(id))[0]!)).toContain(wrapped(JSON.stringify(right)))
    }).pipe(withAgents(script))
  })

  it.effect("fails after three corrections, and keeps the last answer", () => {
    const script = Scripted.make({ finder: [answer({ n: 1 }), answer({ n: 2 }), answer({ n: 3 }), answer({ n: 4 })] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const tasks = yield* Tasks
      const request = { parentID: id, agent: "finder", description: "d", prompt: "p", byUser: false }
      const outcome = yield* Effect.flatMap(tasks.run(request), outcomeOf)
      expect(outcome).toMatchObject({ status: "failed", error: { tag: "InvalidAnswer" } })
      expect(JSON.parse(outcome.text)).toEqual({ answer: { n: 4 } })
      expect(script.requests).toHaveLength(4)
    }).pipe(withAgents(script))
  })

  it.effect("returns JSON when resumed, and after notifications of its own tasks", () => {
    const script = Scripted.make({ finder: [answer({ file: "a.ts" }), answer({ file: "b.ts" })] })
    const tree = Scripted.make({
      lead: [
        Scripted.call("task", { description: "d", prompt: "p", subagent_type: "finder", background: true }),
        answer({ file: "early.ts" }),
        answer({ file: "late.ts" })
      ],
      finder: [{ ...answer({ file: "x.ts" }), delay: { first: 1_000 } }]
    })
    const lead = SkeinTest.agent("lead", { output: entry, permission: { task: "allow" } })
    const run = (parentID: SessionID, agent: string, more: { readonly taskID?: string } = {}) =>
      Effect.gen(function*() {
        const request = { parentID, agent, description: "d", prompt: "p", byUser: false, ...more }
        const fiber = yield* Effect.fork(Effect.flatMap(Tasks, (tasks) => tasks.run(request)))
        yield* TestClock.adjust("1 minute")
        return yield* Effect.flatMap(Fiber.join(fiber), outcomeOf)
      })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const first = yield* run(id, "finder")
      expect(first).toMatchObject({ status: "completed", text: "{\"file\":\"a.ts\"}" })
      expect((yield* run(id, "finder", { taskID: first.taskID })).text).toBe("{\"file\":\"b.ts\"}")
    }).pipe(
      withAgents(script),
      Effect.zipRight(
        Effect.provide(
          Effect.map(
            Effect.flatMap(root(), ({ id }) => run(id, "lead")),
            ({ text }) => expect(text).toBe("{\"file\":\"late.ts\"}")
          ),
          SkeinTest.layer(tree, { agents: [lead, finder] })
        )
      )
    )
  })

  it.effect("concludes in plain text when stopped", () => {
    const script = Scripted.make({
      finder: (request) => request.tools.length === 0 ? "half of it" : { text: "I look", hangs: true }
    })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const tasks = yield* Tasks
      const request = { parentID: id, agent: "finder", description: "d", prompt: "p", byUser: false }
      const fiber = yield* Effect.fork(tasks.run(request))
      yield* TestClock.adjust("1 second")
      const [child] = yield* childrenOf(id)
      yield* Effect.fork(tasks.stop({ parentID: id, taskID: child!.id }, { by: "the test" }))
      yield* TestClock.adjust("1 minute")
      expect(yield* Fiber.join(fiber)).toMatchObject({ status: "stopped", text: "half of it" })
    }).pipe(withAgents(script))
  })
})

describe("a prompt of an agent whose definition has an output", () => {
  it.effect("is answered with JSON", () =>
    Effect.gen(function*() {
      const { id } = yield* root({ agent: "finder" })
      expect(yield* Session.prompt(id, "Where?")).toMatchObject({
        end: "completed",
        text: "{\"file\":\"bin.ts\",\"line\":3}",
        output: right
      })
    }).pipe(withAgents({ finder: [answer(right)] })))

  it.effect("uses its own schema if it requests one", () =>
    Effect.gen(function*() {
      const { id } = yield* root({ agent: "finder" })
      expect(yield* Session.ask(id, "When?", Schema.Date)).toEqual(new Date(0))
    }).pipe(withAgents({ finder: [answer("1970-01-01T00:00:00.000Z")] })))

  it.effect("may switch to that agent, and away from it", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      expect((yield* Session.prompt(id, "Where?")).text).toBe("there")
      expect((yield* Session.prompt(id, "Where?", { agent: "finder" })).text).toBe(JSON.stringify(right))
      expect((yield* Session.prompt(id, "Where?", { agent: "build" })).text).toBe("there")
    }).pipe(withAgents({ build: ["there"], finder: [answer(right)] })))

  it.effect.each<[string, JsonSchema, unknown]>([
    ["a list", { type: "array", items: { enum: ["a", "b"] }, minItems: 1 }, ["a"]],
    ["a text", { type: "string" }, "a"],
    ["a tree", {
      $ref: "#/$defs/tree",
      $defs: { tree: { type: "object", properties: { all: { type: "array", items: { $ref: "#/$defs/tree" } } } } }
    }, { all: [{ all: [] }] }],
    ["itself", { type: "object", properties: { next: { $ref: "#" } }, required: ["n"] }, { n: 1, next: { n: 2 } }]
  ])("may have the schema of %s", ([, output, value]) =>
    Effect.gen(function*() {
      const { id } = yield* root({ agent: "finder" })
      expect((yield* Session.prompt(id, "?")).text).toBe(JSON.stringify(value))
    }).pipe(withAgents({ finder: [answer(7), answer(value)] }, { ...finder, output })))

  it.effect("fails with a typed error if the definition has an invalid schema", () =>
    Effect.gen(function*() {
      const { id } = yield* root({ agent: "finder" })
      expect(yield* Effect.flip(Session.prompt(id, "?"))).toMatchObject({
        _tag: "InvalidAnswer",
        message: "The output of the agent finder is no form: \"#/$defs/x\" does not refer to a schema in it."
      })
    }).pipe(withAgents({ finder: ["never"] }, { ...finder, output: { $ref: "#/$defs/x" } })))
})
