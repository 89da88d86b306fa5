import { expect, it } from "@effect/vitest"
import { Permission } from "@skein/core/Permission"
import type { ModelRequest } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Tasks } from "@skein/core/Tasks"
import { ToolError } from "@skein/core/Tool"
import type { SessionID } from "@skein/domain/Id"
import { record } from "@skein/testing/RecordedEvents"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { seeds } from "@skein/testing/Seeds"
import { simulate } from "@skein/testing/Simulation"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import { makeRecordedStorage } from "./support/storage.ts"
import { expectStill, root, treeOf } from "./support/tree.ts"

const upTo = (most: number) => Random.nextIntBetween(0, most + 1)
const oneOf = <A>(...items: readonly [A, ...ReadonlyArray<A>]): Effect.Effect<A> =>
  Effect.map(upTo(items.length - 1), (at) => items[at] ?? items[0])
const aWhile = (most: number) => Effect.flatMap(upTo(most), (ms) => Effect.sleep(ms))

const agents = [
  SkeinTest.agent("lead", { permission: { task: "allow" }, steps: 4, timeout: 400 }),
  SkeinTest.agent("worker", { steps: 4, timeout: 300 }),
  SkeinTest.agent("build", { mode: "primary", steps: 6 })
]

const tools = [
  SkeinTest.tool("quick", () => Effect.succeed("done")),
  SkeinTest.tool("slow", ({ ms }) => Effect.as(Effect.sleep(Number(ms)), "slept"), { effect: "never" }),
  SkeinTest.tool("broken", () => Effect.fail(new ToolError({ kind: "oops", message: "no" }))),
  SkeinTest.tool("guarded", () => Effect.succeed("done"), {
    authorise: ({ path }) =>
      Effect.succeed([{ permission: "edit", patterns: [String(path)], always: ["a*"], metadata: {} }])
  })
]

/** The ids of the tasks in a model's conversation. */
const known = (request: ModelRequest): ReadonlyArray<string> =>
  request.messages.flatMap((message) => message.role === "tool" ? message.content : []).flatMap((result) =>
    /^task_id: (\S+)/.exec(result.output.value)?.slice(1) ?? []
  )

const aTask = (request: ModelRequest) =>
  Effect.gen(function*() {
    const ids = known(request)
    const task_id = ids.length > 0 && (yield* upTo(3)) === 0 ? ids[0] : undefined
    const subagent_type = yield* oneOf("lead", "worker")
    return { tool: "task", input: { description: "a task", prompt: "p", subagent_type, task_id } }
  })

const aCall = (request: ModelRequest): Effect.Effect<Scripted.ScriptedCall> =>
  Effect.gen(function*() {
    const n = yield* upTo(1_000)
    switch (yield* upTo(6)) {
      case 0:
        return { tool: "quick", input: { n } }
      case 1:
        return { tool: "slow", input: { ms: n % 60 } }
      case 2:
        return { tool: "broken", input: { n } }
      case 3:
        return { tool: "guarded", input: { path: yield* oneOf("a", "b") } }
      case 4:
        return { tool: yield* oneOf("quick", "nothing"), raw: yield* oneOf("{", "[]", "") }
      default:
        return yield* aTask(request)
    }
  })

/** A model that does anything that a model can do. */
const anything = (request: ModelRequest) =>
  Effect.gen(function*() {
    const delay = { first: yield* upTo(20), between: yield* upTo(5) }
    switch (yield* upTo(9)) {
      case 0:
        return Scripted.fault(yield* oneOf("server" as const, "network" as const, "auth" as const), {}, {
          text: "half"
        })
      case 1:
        return { text: yield* oneOf("", " ", "so far"), hangs: (yield* upTo(2)) === 0 }
      case 2:
      case 3:
        return { text: "an answer", pieces: 2, delay }
      default: {
        const calls = yield* Effect.forEach(Array.from({ length: 1 + (yield* upTo(2)) }), () => aCall(request))
        return { text: "I work", calls: calls.map((call, i) => ({ ...call, id: `call_${i}` })), delay }
      }
    }
  })

/** Several users in parallel: one stops things, and one answers questions. */
const scene = (seed: number) => {
  const script = Scripted.make({ "*": anything })
  const storage = makeRecordedStorage({ latency: seed % 3 })
  const program = Effect.gen(function*() {
    const [session, permission, tasks] = yield* Effect.all([Session, Permission, Tasks])
    const { id } = yield* root()
    const events = yield* record()

    const user = Effect.gen(function*() {
      yield* aWhile(100)
      const timeout = (yield* upTo(2)) === 0 ? yield* upTo(300) : 3_600_000
      return yield* Effect.exit(Effect.timeoutOption(session.prompt(id, "Go on"), timeout))
    })
    const embedder = Effect.gen(function*() {
      yield* aWhile(100)
      const request = { parentID: id, agent: "worker", description: "mine", prompt: "p", byUser: true }
      return yield* Effect.exit(Effect.timeoutOption(tasks.run(request), yield* upTo(400)))
    })
    const stopper = Effect.gen(function*() {
      yield* aWhile(200)
      const all = yield* treeOf(id)
      const [victim = all[0]] = yield* Random.shuffle(all)
      if (victim !== undefined) yield* session.stop(victim.id)
    })
    const replier = Effect.forever(Effect.gen(function*() {
      yield* Effect.sleep(25)
      for (const question of yield* permission.pending()) {
        const reply = yield* oneOf("once" as const, "always" as const, "reject" as const)
        const message = (yield* upTo(1)) === 0 ? {} : { message: "Otherwise." }
        // The one who asked may have been stopped at this moment.
        yield* Effect.either(permission.reply(question.id, reply, message))
      }
    }))

    const answering = yield* Effect.fork(replier)
    const ends = yield* Effect.all([user, user, user, embedder, stopper.pipe(Effect.exit)], {
      concurrency: "unbounded"
    })
    yield* Fiber.interrupt(answering)
    yield* session.stop(id)
    yield* check(id, script, events.all.map((event) => event.type), ends)
  })
  const config = {
    limits: { concurrency: 1 + seed % 3, max_tasks: 30 },
    retry: { attempts: 3, base: 10, max_delay: 20 }
  }
  const layer = SkeinTest.layer(script, { agents, tools, config, asks: "person", storage: storage.layer })
  return simulate(program.pipe(Effect.scoped, Effect.provide(layer)), { seed, maxSlice: 100 })
}

const check = Effect.fnUntraced(function*(
  id: SessionID,
  script: Scripted.Scripted,
  types: ReadonlyArray<string>,
  ends: ReadonlyArray<Exit.Exit<unknown, { readonly _tag: string }>>
) {
  const storage = yield* SessionStorage
  yield* expectStill(id, script)
  const requests = script.requests.length
  yield* Effect.sleep("1 hour")
  expect(script.requests.length, "nothing wakes without a reason").toBe(requests)
  for (const exit of ends) {
    if (Exit.isSuccess(exit)) continue
    expect(exit.cause._tag, "a typed failure").toBe("Fail")
    const tag = exit.cause._tag === "Fail" ? exit.cause.error._tag : ""
    expect(["ModelError", "SessionStopped"]).toContain(tag)
  }
  const { rows } = yield* storage.runs({ rootID: id })
  const count = (type: string) => types.filter((each) => each === type).length
  expect(count("subagent.created")).toBe(rows.length)
  expect(count("subagent.completed") + count("subagent.failed"), "each run ends once").toBe(rows.length)
  for (const { outcome } of rows) {
    const why = outcome?.status === "failed" ? outcome.error : { tag: "", message: "" }
    expect(["defect", "StorageError"], why.message).not.toContain(why.tag)
    expect(why.message).not.toContain("strict provider")
  }
  for (const info of yield* treeOf(id)) {
    for (const { info: message } of (yield* storage.messages(info.id)).rows) {
      const error = message.role === "assistant" ? message.error : undefined
      expect(["defect", "StorageError"], error?.message).not.toContain(error?.tag)
      expect(error?.message ?? "").not.toContain("strict provider")
    }
  }
  return rows.length
})

it("a tree always ends completely and reports what happened, whatever models, users and stops do", () => {
  for (const seed of seeds(1, 120)) scene(seed)
}, 120_000)
