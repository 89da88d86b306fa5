import { describe, expect, it } from "@effect/vitest"
import { Permission } from "@skein/core/Permission"
import type { ToolSpec } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { Tasks } from "@skein/core/Tasks"
import type { SessionID } from "@skein/domain/Id"
import type { ToolPart } from "@skein/domain/Part"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { callsMade, childrenOf, messagesOf, resultOf, root, treeOf } from "./support/tree.ts"

const agents = [
  SkeinTest.agent("worker", { description: "Works." }),
  SkeinTest.agent("nameless"),
  SkeinTest.agent("both", { mode: "all", description: "Anywhere." }),
  SkeinTest.agent("secret", { hidden: true, description: "Hidden." }),
  SkeinTest.agent("main", { mode: "primary" }),
  SkeinTest.agent("lead", { permission: { task: "allow" }, description: "Leads." })
]

const input = (more: Readonly<Record<string, unknown>> = {}) => ({
  description: "look",
  prompt: "p",
  subagent_type: "worker",
  ...more
})

/** Makes one task call of a model, and returns its result. */
const callTask = Effect.fnUntraced(function*(
  given: unknown,
  options: SkeinTest.SkeinTestOptions = {},
  before: (id: SessionID) => Effect.Effect<unknown, unknown, Session> = () => Effect.void
) {
  const script = Scripted.make({ build: [{ calls: [{ tool: "task", input: given }] }, "ok"], "*": ["found"] })
  return yield* Effect.gen(function*() {
    const { id } = yield* root()
    yield* before(id)
    const turn = yield* Session.prompt(id, "Go")
    expect(turn.text).toBe("ok")
    const [part] = yield* callsMade(id)
    return { part: part as ToolPart, text: resultOf(part as ToolPart), id, children: yield* childrenOf(id), script }
  }).pipe(Effect.provide(SkeinTest.layer(script, { agents, ...options })))
})

const refuses = (name: string, given: unknown, tag: string, text: string | RegExp) =>
  it.effect(`refuses ${name}`, () =>
    Effect.gen(function*() {
      const { children, part, text: result } = yield* callTask(given)
      expect(part.state).toMatchObject({ status: "error", error: { tag } })
      expect(result).toMatch(text)
      expect(children).toEqual([])
    }))

describe("the input of a task", () => {
  for (const field of ["description", "prompt", "subagent_type"]) {
    const message = `task.${field} must be a non-empty string`
    for (const blank of ["", " \n\t"]) {
      it.effect(`needs a ${field}, not only ${JSON.stringify(blank)}`, () =>
        Effect.gen(function*() {
          const { children, text } = yield* callTask(input({ [field]: blank }))
          expect(text).toBe(message)
          expect(children).toEqual([])
        }))
    }
    refuses(`a missing ${field}`, { ...input(), [field]: undefined }, "invalid_arguments", /is missing/)
  }
  refuses(
    "an unknown key",
    input({ agents: "x" }),
    "invalid_arguments",
    /^invalid arguments for task: task\.agents: is unexpected/
  )
  refuses("a timeout of zero", input({ timeout: 0 }), "invalid_arguments", /task\.timeout/)
  refuses(
    "an invalid timeout",
    input({ timeout: "soon" }),
    "invalid_arguments",
    /task\.timeout: a whole number of milliseconds or a time such as "90s"/
  )
  refuses("a timeout without a unit in a text", input({ timeout: "5" }), "invalid_arguments", /task\.timeout/)

  it.effect("takes a timeout such as 5m", () =>
    Effect.gen(function*() {
      const { part, script, text } = yield* callTask(input({ timeout: "5m" }))
      expect(part.state.status, text).toBe("completed")
      const tool = script.requests[0]?.tools.find(({ name }) => name === "task")
      expect(Object(tool?.inputSchema).properties.timeout).toMatchObject({
        description: expect.stringContaining("How long the task may take"),
        type: ["integer", "string"]
      })
    }))
  refuses(
    "an invalid model name",
    input({ model: "gpt" }),
    "invalid_arguments",
    /task\.model must be a provider\/model name such as scripted\/model/
  )
  refuses(
    "an unknown agent",
    input({ subagent_type: "nobody" }),
    "unknown_agent",
    "Unknown agent type: nobody is not a valid agent type"
  )
  refuses(
    "a command as an agent",
    input({ subagent_type: "command" }),
    "unknown_agent",
    /^Unknown agent type: command is not a valid agent type\. Commands .* `skein run --command NAME`/
  )
  refuses(
    "a hidden agent",
    input({ subagent_type: "secret" }),
    "unknown_agent",
    "Unknown agent type: secret is not a valid agent type"
  )
  refuses(
    "a primary agent",
    input({ subagent_type: "main" }),
    "unknown_agent",
    "Unknown agent type: main is not a valid agent type"
  )
  refuses(
    "the name of an agent in another case",
    input({ subagent_type: "Worker" }),
    "unknown_agent",
    /Unknown agent type/
  )
  refuses("an unknown task", input({ task_id: "ses_0123" }), "not_found", /^Task not found: ses_0123/)
  refuses(
    "a UUID as a task",
    input({ task_id: "4b5f7c1e-8d1f-4f3e-9c1e-000000000000" }),
    "not_found",
    /^Task not found: 4b5f/
  )
  refuses("a path as a task", input({ task_id: "../../etc/passwd" }), "not_found", /^Task not found/)
  refuses(
    "an unknown task, under the alias",
    input({ session_id: "ses_0123" }),
    "not_found",
    /^Task not found: ses_0123/
  )

  it.effect("is checked in order: agent, then the task to resume, then permission", () =>
    Effect.gen(function*() {
      const rules = { task: { "*": "deny", lead: "allow" } } as const
      const nobody = yield* callTask(input({ subagent_type: "nobody", task_id: "ses_0123" }), { rules })
      expect(nobody.text).toContain("Unknown agent type")
      const unknown = yield* callTask(input({ task_id: "ses_0123" }), { rules })
      expect(unknown.text).toContain("Task not found")
      const denied = yield* callTask(input(), { rules })
      expect(denied.text).toContain("Permission denied")
      const blank = yield* callTask(input({ description: "", subagent_type: "nobody" }), { rules })
      expect(blank.text).toContain("task.description")
    }))

  it.effect("asks permission for the agent, with its task", () => {
    const script = Scripted.make({ build: [{ calls: [{ tool: "task", input: input() }] }, "ok"], worker: ["found"] })
    return Effect.gen(function*() {
      const permission = yield* Permission
      const events = yield* record()
      const { id } = yield* root()
      const fiber = yield* Effect.fork(Session.prompt(id, "Go"))
      const { properties } = yield* events.first("permission.asked")
      expect(properties).toMatchObject({
        permission: "task",
        patterns: ["worker"],
        always: ["*"],
        metadata: { description: "look", subagent_type: "worker" }
      })
      expect(yield* childrenOf(id)).toEqual([])
      yield* permission.reply(properties.id, "once")
      yield* Fiber.join(fiber)
      expect(yield* childrenOf(id)).toHaveLength(1)
    }).pipe(
      Effect.scoped,
      Effect.provide(SkeinTest.layer(script, { agents, asks: "person", rules: { task: "ask" } }))
    )
  })

  for (const absent of [{ task_id: "" }, { session_id: "" }, { task_id: "", session_id: "" }]) {
    it.effect(`treats an empty id as absent: ${JSON.stringify(absent)}`, () =>
      Effect.gen(function*() {
        const { children, part } = yield* callTask(input(absent))
        expect(part.state.status).toBe("completed")
        expect(children).toHaveLength(1)
      }))
  }

  it.effect("may contain a command, which is only a label", () =>
    Effect.gen(function*() {
      const { children, part, script } = yield* callTask(input({ command: "/review $ARGUMENTS !`ls`" }))
      expect(part.state).toMatchObject({ status: "completed", input: { command: "/review $ARGUMENTS !`ls`" } })
      expect(Scripted.lastText(script.requests[1]!)).toBe("p")
      expect(children).toHaveLength(1)
    }))

  it.effect("may name an agent that is both primary and subagent", () =>
    Effect.gen(function*() {
      expect((yield* callTask(input({ subagent_type: "both" }))).part.state.status).toBe("completed")
    }))
})

describe("the id of a task that is not the caller's child", () => {
  it.effect("is refused: its own, an ancestor's, a sibling's child's, a stranger's", () => {
    const ids: Record<string, string> = {}
    const script = Scripted.make({
      build: () => ({ calls: [{ tool: "task", input: input({ subagent_type: "lead" }) }] }),
      lead: (request) => {
        if (request.messages.some((message) => message.role === "tool")) return "enough"
        ids["own"] = request.origin.sessionID
        ids["parent"] = request.origin.rootID
        return {
          calls: ["own", "parent", "stranger", "cousin"].map((who) => ({
            tool: "task",
            input: input({ task_id: ids[who] })
          }))
        }
      },
      "*": ["found"]
    })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const stranger = yield* root()
      const other = yield* tasks.run({
        parentID: stranger.id,
        agent: "worker",
        description: "d",
        prompt: "p",
        byUser: true
      })
      ids["stranger"] = stranger.id
      ids["cousin"] = other.taskID
      const { id } = yield* root()
      yield* tasks.run({ parentID: id, agent: "lead", description: "d", prompt: "p", byUser: true })
      const [lead] = yield* childrenOf(id)
      const result = (yield* callsMade(lead!.id)).map((
        part
      ) => [part.state.status === "error" && part.state.error.tag, resultOf(part)])
      expect(result).toEqual(["own", "parent", "stranger", "cousin"].map((who) => [
        "not_a_child",
        `Task ${ids[who]} is not a child of this session: only the session that started a task can resume it.`
      ]))
      expect(yield* childrenOf(lead!.id)).toEqual([])
      expect((yield* messagesOf(stranger.id)).length).toBe(0)
      expect(yield* treeOf(stranger.id)).toHaveLength(2)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
  })

  it.effect("is refused if the parent no longer exists", () =>
    Effect.gen(function*() {
      const tasks = yield* Tasks
      const session = yield* Session
      const { id } = yield* root()
      yield* session.remove(id)
      const error = yield* Effect.flip(
        tasks.run({ parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true })
      )
      expect(error).toMatchObject({
        _tag: "TaskRefused",
        reason: "parent_not_found",
        message: `Parent session not found: ${id}`
      })
    }).pipe(Effect.provide(SkeinTest.layer({}, { agents }))))
})

describe("the task tool as a model sees it", () => {
  const offered = Effect.fnUntraced(function*(agent: string, options: SkeinTest.SkeinTestOptions = {}) {
    const script = Scripted.make({ "*": ["ok"] })
    return yield* Effect.gen(function*() {
      const { id } = yield* root({ agent })
      yield* Session.prompt(id, "Go")
      return script.requests[0]?.tools.find((tool) => tool.name === "task")
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents, ...options })))
  })
  const listOf = (spec: ToolSpec | undefined) => spec?.description.split("\n\nAgents:\n")[1]?.split("\n")

  it.effect("lists the agents that may be started, sorted, never hidden or primary ones", () =>
    Effect.gen(function*() {
      const spec = yield* offered("build")
      expect(listOf(spec)).toEqual([
        "- both: Anywhere.",
        expect.stringMatching(/^- explore: Explores a codebase quickly/),
        expect.stringMatching(/^- general: Researches/),
        "- lead: Leads.",
        "- nameless: This subagent should only be called manually by the user.",
        "- worker: Works."
      ])
      expect(spec?.description).toMatch(/sees only your prompt/)
      expect(spec?.description).toMatch(/several calls in one step/)
      expect(spec?.description).toMatch(/The user does not see it/)
      expect(spec?.inputSchema).toMatchObject({ type: "object", required: ["description", "prompt", "subagent_type"] })
    }))

  it.effect("leaves out agents that are denied to this caller", () =>
    Effect.gen(function*() {
      const rules = { task: { "*": "deny", worker: "allow", lead: "ask" } } as const
      expect(listOf(yield* offered("build", { rules }))).toEqual(["- lead: Leads.", "- worker: Works."])
    }))

  it.effect("is not offered if no agent is allowed", () =>
    Effect.gen(function*() {
      expect(yield* offered("build", { rules: { task: "deny" } })).toBeUndefined()
      expect(yield* offered("build", { rules: { task: { "*": "deny", nobody: "allow" } } })).toBeUndefined()
    }))

  it.effect("is not offered to a subagent whose definition has no rule for it", () => {
    const script = Scripted.make({ build: [Scripted.tasks({ worker: "p" }, { lead: "p" }), "ok"], "*": ["found"] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      const has = (path: string) =>
        script.requests.find((request) => request.origin.path.join("/") === path)?.tools.some((tool) =>
          tool.name === "task"
        )
      expect(has("build/lead")).toBe(true)
      expect(has("build/worker")).toBe(false)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
  })

  it.effect("is not offered at the depth limit, and is refused when called anyway", () => {
    const script = Scripted.make({ "*": [Scripted.tasks({ lead: "p" }), "ok"] })
    return Effect.gen(function*() {
      const tasks = yield* Tasks
      const { id } = yield* root()
      yield* Session.prompt(id, "Go")
      expect(
        script.requests.map(({ origin, tools }) => [origin.path.length - 1, tools.some((tool) => tool.name === "task")])
      )
        .toEqual([[0, true], [1, true], [2, true], [3, false], [3, false], [2, true], [1, true], [0, true]])
      const deepest = (yield* treeOf(id)).find((info) => info.depth === 3)
      expect((yield* callsMade(deepest!.id)).map(resultOf)[0]).toContain("There is no tool \"task\" here")
      const error = yield* Effect.flip(
        tasks.run({ parentID: deepest!.id, agent: "worker", description: "d", prompt: "p", byUser: true })
      )
      expect(error).toMatchObject({ reason: "depth", message: expect.stringContaining("limits.subagent_depth") })
      expect((yield* treeOf(id)).some((info) => info.depth > 3)).toBe(false)
    }).pipe(Effect.provide(SkeinTest.layer(script, { agents })))
  })
})
