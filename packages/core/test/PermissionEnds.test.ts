/** A question ends exactly once, every watcher learns of it, and it lifts no denial. */
import { describe, expect, it } from "@effect/vitest"
import { on } from "@skein/core/Hooks"
import { Permission } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { Tasks } from "@skein/core/Tasks"
import { record } from "@skein/testing/RecordedEvents"
import { call, tasks } from "@skein/testing/ScriptedProvider"
import { simulate } from "@skein/testing/Simulation"
import { tool } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { begin, results, touch, touching, waiting, with_ } from "./support/asking.ts"
import { generations, go, resumed } from "./support/generations.ts"
import { makeRecordedStorage } from "./support/storage.ts"
import { callsMade, childrenOf, resultOf, root } from "./support/tree.ts"

it("the second of two answers to one question is refused, and stores nothing", () => {
  const storage = makeRecordedStorage({ latency: 10 })
  simulate(
    Effect.gen(function*() {
      const { id } = yield* root()
      const { events, requests, turn } = yield* begin(id, 1)
      const asked = requests[0]!.id
      const [no, always] = yield* Effect.all([
        Effect.exit(Permission.reply(asked, "reject", { message: "no" })),
        Effect.exit(Permission.reply(asked, "always"))
      ], { concurrency: 2 })
      expect([Exit.isSuccess(no), Exit.isFailure(always)]).toEqual([true, true])
      yield* Fiber.join(turn)
      expect(events.of("permission.replied")).toHaveLength(1)
      expect(yield* Permission.approvals("/work")).toEqual([])
      expect(yield* results(id)).toEqual(["Permission denied. The user says: no"])
    }).pipe(Effect.scoped, with_({ build: [touching("a"), "Done."] }, { storage: storage.layer })),
    { seed: 1 }
  )
})

describe("an answer that cannot be stored", () => {
  it.scoped("fails, allows nothing, and can be repeated", () => {
    const storage = makeRecordedStorage()
    return Effect.gen(function*() {
      const { id } = yield* root()
      const { requests, turn } = yield* begin(id, 1)
      storage.failWhere(() => true)
      expect(yield* Effect.flip(Permission.reply(requests[0]!.id, "always"))).toMatchObject({ _tag: "StorageError" })
      storage.failWhere(() => false)
      expect(yield* waiting).toEqual(requests)
      expect(yield* Permission.approvals("/work")).toEqual([])
      yield* Permission.reply(requests[0]!.id, "once")
      expect((yield* Fiber.join(turn)).text).toBe("Done.")
      expect(yield* results(id)).toEqual(["touched a"])
    }).pipe(with_({ build: [touching("a"), "Done."] }, { storage: storage.layer }))
  })
})

it("a question of yesterday has one day in total, however often the program was restarted", () => {
  const options = { asks: "person", tools: [touch] } as const
  const dying = { options, scripts: { build: [touching("a")] }, tools: () => [touch] }
  generations(
    { ...dying, dies: 20 * 3_600_000, program: go },
    {
      ...dying,
      dies: 3 * 3_600_000,
      program: (id) =>
        Effect.gen(function*() {
          yield* Effect.fork(resumed(id))
          yield* Effect.sleep("2 hours")
          expect(yield* waiting).toHaveLength(1)
          yield* Effect.never
        })
    },
    {
      ...dying,
      scripts: { build: ["On."] },
      program: (id) =>
        Effect.gen(function*() {
          const turn = yield* Effect.fork(resumed(id))
          yield* Effect.sleep("59 minutes")
          expect(yield* waiting).toHaveLength(1)
          yield* Effect.sleep("2 minutes")
          expect(yield* waiting).toEqual([])
          yield* Fiber.join(turn)
          expect(yield* results(id)).toEqual([expect.stringContaining("24 hours")])
        })
    },
    {
      ...dying,
      scripts: { build: [] },
      program: (id) => Effect.map(results(id), (found) => expect(found).toHaveLength(1))
    }
  )
})

describe("a question of a child", () => {
  const script = { build: [tasks({ worker: "w" }), "Done."], worker: [touching("a"), "ok"] }

  it.scoped("is withdrawn when the root is stopped", () =>
    Effect.gen(function*() {
      const { id } = yield* root()
      const { events, requests, turn } = yield* begin(id, 1)
      yield* Effect.flatMap(Session, (session) => session.stop(id))
      yield* Fiber.await(turn)
      expect(yield* waiting).toEqual([])
      expect(events.of("permission.replied").map(({ properties }) => properties)).toEqual([
        {
          id: requests[0]!.id,
          reply: "reject",
          message: "The call was stopped before anybody answered.",
          withdrawn: true
        }
      ])
      expect(yield* Effect.flip(Permission.reply(requests[0]!.id, "once"))).toMatchObject({
        _tag: "PermissionNotFound"
      })
      const [worker] = yield* childrenOf(id)
      expect((yield* callsMade(worker!.id)).map(({ state }) => state.status)).toEqual(["error"])
    }).pipe(with_(script)))

  /** Asks a person while every commit takes 20 milliseconds. */
  const slowly = <A, E>(
    program: (
      asking: Fiber.Fiber<void, unknown>,
      events: Effect.Effect.Success<ReturnType<typeof record>>
    ) => Effect.Effect<A, E, Permission>
  ) =>
    simulate(
      Effect.gen(function*() {
        const session = yield* root()
        const permission = yield* Permission
        const events = yield* record()
        const asking = yield* Effect.fork(permission.authorise(
          { session, path: ["build"], mode: "ask", rules: [], ceilings: [] },
          { name: "touch", permission: "edit" },
          { permission: "edit", patterns: ["a"], always: [], metadata: {} }
        ))
        yield* program(asking, events)
        expect(yield* waiting).toEqual([])
        expect(events.of("permission.asked")).toHaveLength(1)
        return events.of("permission.replied").map(({ properties }) => properties.reply)
      }).pipe(Effect.scoped, with_({}, { storage: makeRecordedStorage({ latency: 20 }).layer })),
      { seed: 1 }
    )

  it("is withdrawn even while it is being asked", () => {
    expect(slowly((asking, events) =>
      Effect.gen(function*() {
        yield* Effect.sleep(10)
        expect(events.of("permission.asked")).toEqual([])
        yield* Fiber.interrupt(asking)
      })
    )).toEqual(["reject"])
  })

  it("is not withdrawn while it is being answered", () => {
    expect(slowly((asking) =>
      Effect.gen(function*() {
        yield* Effect.sleep(30)
        const [request] = yield* waiting
        const answering = yield* Effect.fork(Permission.reply(request!.id, "once"))
        yield* Effect.sleep(10)
        yield* Fiber.interrupt(asking)
        yield* Fiber.join(answering)
      })
    )).toEqual(["once"])
  })
})

/** A worker asks, its caller switches to plan mode, and only then a person answers. */
const answeredInPlan = Effect.fnUntraced(function*(reply: "once" | "always") {
  const runs = yield* Tasks
  const { id } = yield* root()
  const events = yield* record()
  const task = yield* Effect.fork(
    runs.run({ parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true })
  )
  yield* events.first("permission.asked")
  yield* Session.prompt(id, "Plan", { agent: "plan" })
  const [request] = yield* waiting
  yield* Permission.reply(request!.id, reply)
  yield* Fiber.join(task)
  return id
})

describe("consent", () => {
  it.scoped("does not lift a ceiling that was lowered meanwhile", () =>
    Effect.gen(function*() {
      const id = yield* answeredInPlan("always")
      const [worker] = yield* childrenOf(id)
      expect((yield* callsMade(worker!.id)).map(resultOf)).toEqual([
        expect.stringContaining("plan mode forbids edit (a) here")
      ])
    }).pipe(with_({ worker: [touching("a"), "ok"], plan: ["planning"] })))

  it.scoped("of a hook does not either", () => {
    const sessions: { switch: Effect.Effect<unknown> } = { switch: Effect.void }
    const hook = on(
      "PermissionRequest",
      () => Effect.as(Effect.orDieWith(sessions.switch, String), { decision: "allow" as const })
    )
    return Effect.gen(function*() {
      const session = yield* Session
      const runs = yield* Tasks
      const { id } = yield* root()
      sessions.switch = Effect.orDieWith(session.prompt(id, "Plan", { agent: "plan" }), String)
      yield* runs.run({ parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true })
      const [worker] = yield* childrenOf(id)
      expect((yield* callsMade(worker!.id)).map(resultOf)).toEqual([
        expect.stringContaining("plan mode forbids edit (a) here")
      ])
    }).pipe(with_({ worker: [touching("a"), "ok"], plan: ["planning"] }, { hooks: [hook] }))
  })

  it.scoped("runs a command without write access if that applies by then", () => {
    const ran: Array<boolean> = []
    const make = tool("bash", (_, { readsOnly }) =>
      Effect.sync(() => {
        ran.push(readsOnly)
        return "made"
      }), {
      permission: "bash",
      authorise: () =>
        Effect.succeed([{
          permission: "bash",
          patterns: ["make"],
          exact: [],
          always: [],
          metadata: {},
          confined: true
        }])
    })
    return Effect.gen(function*() {
      yield* answeredInPlan("once")
      expect(ran).toEqual([true])
    }).pipe(with_({ worker: [call("bash", {}), "ok"], plan: ["planning"] }, { tools: [make] }))
  })
})
