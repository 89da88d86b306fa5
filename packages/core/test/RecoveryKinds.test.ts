import { describe, expect, it } from "@effect/vitest"
import { Bus } from "@skein/core/Bus"
import { Permission, type PermissionOptions } from "@skein/core/Permission"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Tasks } from "@skein/core/Tasks"
import type { AnyTool } from "@skein/core/Tool"
import type { MessageID, SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { lastingStorage, type Life, lonely, process } from "./support/mortal.ts"
import { simulate } from "./support/simulate.ts"
import { callsMade, childrenOf, expectStill, messagesOf, root, said } from "./support/tree.ts"

const agents = [
  SkeinTest.agent("worker"),
  SkeinTest.agent("lead", { permission: { task: "allow" } })
]

type Services = Layer.Layer.Success<ReturnType<typeof SkeinTest.layer>>

interface Process {
  readonly scripts: Parameters<typeof Scripted.make>[0]
  readonly tools?: (life: Life) => ReadonlyArray<AnyTool>
  readonly asks?: PermissionOptions["asks"]
}

/** A process that dies after a while, and the one that comes after it. */
const twoProcesses = <A>(
  first: Process & { readonly program: Effect.Effect<unknown, unknown, Services>; readonly dies: number },
  second: Process & {
    readonly program: (id: SessionID, script: Scripted.Scripted) => Effect.Effect<A, unknown, Services>
  }
) =>
  simulate(
    Effect.scoped(Effect.gen(function*() {
      const inner = yield* lastingStorage
      const stack = (
        life: Life,
        given: Process,
        storage: Parameters<Parameters<typeof process>[2]>[1],
        name: string
      ) => {
        const script = Scripted.make(given.scripts)
        const layer = SkeinTest.layer(script, {
          agents,
          storage,
          owner: lonely(name),
          tools: given.tools?.(life) ?? [],
          ...(given.asks === undefined ? {} : { asks: given.asks })
        })
        return Effect.map(Layer.build(layer), (context) => ({ context, script }))
      }
      const end = yield* process(inner, "by hand", (life, storage) =>
        Effect.gen(function*() {
          const { context } = yield* stack(life, first, storage, "first")
          yield* Effect.forkScoped(Effect.provide(first.program, context))
          yield* Effect.sleep(first.dies)
          yield* life.die
        }))
      expect(Option.isNone(end)).toBe(true)
      const result = yield* process(inner, undefined, (life, storage) =>
        Effect.gen(function*() {
          const { context, script } = yield* stack(life, second, storage, "second")
          return yield* Effect.provide(
            Effect.gen(function*() {
              const [info] = (yield* Effect.flatMap(Session, (session) => session.list())).rows
              return yield* second.program(info!.id, script)
            }),
            context
          )
        }))
      return Option.getOrThrow(result)
    })),
    { seed: 1 }
  )

const go = Effect.gen(function*() {
  const { id } = yield* root()
  yield* Session.prompt(id, "Go")
})

const resumed = Effect.fnUntraced(function*(id: SessionID) {
  const session = yield* Session
  yield* session.resume(id)
  return yield* session.untilIdle(id)
})

/** A tool that takes an hour in the first process, and no time in the second. */
const tool = (name: string, more: Parameters<typeof SkeinTest.tool>[2], runs: Array<string>) => (life: Life) => [
  SkeinTest.tool(name, () =>
    life.alive(Effect.gen(function*() {
      runs.push(name)
      if (runs.length === 1) yield* Effect.sleep("1 hour")
      return `${name} is done`
    })), more)
]

const calling = (name: string) => ({ build: [Scripted.call(name, { n: 1 }), "All right"] })

describe("a call that a crash cut off", () => {
  it("is made again where it is safe, with one result", () => {
    const runs: Array<string> = []
    const tools = tool("look", { effect: "safe" }, runs)
    const state = twoProcesses(
      { scripts: calling("look"), tools, program: go, dies: 1_000 },
      {
        scripts: { build: ["All right"] },
        tools,
        program: (id, script) =>
          Effect.gen(function*() {
            expect((yield* resumed(id))?.text).toBe("All right")
            yield* expectStill(id, script)
            return (yield* callsMade(id))[0]
          })
      }
    )
    expect(runs).toEqual(["look", "look"])
    expect(state).toMatchObject({
      state: { status: "completed", output: "look is done" },
      intent: { attempt: 2, epoch: 2 }
    })
  })

  it("is not made again where it may have done something, and that is said to the model", () => {
    const runs: Array<string> = []
    const tools = tool("act", { effect: "never" }, runs)
    twoProcesses(
      { scripts: calling("act"), tools, program: go, dies: 1_000 },
      {
        scripts: { build: ["I see"] },
        tools,
        program: (id, script) =>
          Effect.gen(function*() {
            yield* resumed(id)
            const [call] = yield* callsMade(id)
            expect(call?.state.status).toBe("error")
            expect(said(call!)).toMatch(/interrupted.*outcome unknown/)
            expect(JSON.stringify(script.requests[0]?.messages)).toContain("outcome unknown")
          })
      }
    )
    expect(runs).toEqual(["act"])
  })

  it("is looked at by its tool where that can tell what it did", () => {
    for (const found of ["again", "done"] as const) {
      const runs: Array<string> = []
      const recover = () =>
        Effect.succeed(found === "again" ? found : { title: "t", output: "was done before", metadata: {} })
      const tools = tool("change", { effect: "verify", recover }, runs)
      const outputs = twoProcesses(
        { scripts: calling("change"), tools, program: go, dies: 1_000 },
        {
          scripts: { build: ["All right"] },
          tools,
          program: (id) => Effect.zipRight(resumed(id), Effect.map(callsMade(id), (calls) => calls.map(said)))
        }
      )
      expect(outputs).toEqual([found === "again" ? "change is done" : "was done before"])
    }
  })
})

describe("a question that waited", () => {
  const asks = { asks: "person" } as const
  const ask = {
    effect: "never",
    authorise: () => Effect.succeed([{ permission: "act", patterns: ["x"], always: [], metadata: {} }])
  } as const
  const answered = (reply: "once" | "reject") =>
    Effect.gen(function*() {
      const permission = yield* Permission
      const [request] = yield* permission.pending()
      if (request !== undefined) yield* permission.reply(request.id, reply)
    })

  it("is the same after a restart, and its answer makes the call once", () => {
    const runs: Array<string> = ["before"]
    const tools = tool("act", ask, runs)
    let asked: string | undefined
    twoProcesses(
      {
        ...asks,
        tools,
        scripts: calling("act"),
        dies: 1_000,
        program: Effect.zip(
          go,
          Effect.delay(
            Effect.flatMap(Permission, (permission) =>
              Effect.map(permission.pending(), ([request]) => {
                asked = request?.id
              })),
            500
          ),
          { concurrent: true }
        )
      },
      {
        ...asks,
        tools,
        scripts: { build: ["All right"] },
        program: (id) =>
          Effect.gen(function*() {
            const permission = yield* Permission
            const waiting = yield* Effect.fork(resumed(id))
            yield* Effect.sleep(100)
            const [request] = yield* permission.pending()
            expect(request?.id).toBe(asked)
            yield* permission.reply(request!.id, "once")
            yield* Fiber.join(waiting)
            expect((yield* callsMade(id)).map(said)).toEqual(["act is done"])
            expect(yield* Effect.flip(permission.reply(request!.id, "once"))).toMatchObject({
              _tag: "PermissionNotFound"
            })
          })
      }
    )
    expect(runs).toEqual(["before", "act"])
  })

  it("is not asked again where it was answered before the crash", () => {
    const runs: Array<string> = []
    // The answer is stored, and the process dies before anything comes of it.
    const slow = (life: Life) => [
      SkeinTest.tool("act", () => life.alive(Effect.succeed("act is done")), {
        ...ask,
        authorise: () =>
          Effect.succeed([
            { permission: "act", patterns: ["x"], always: [], metadata: {} },
            { permission: "act", patterns: ["y"], always: [], metadata: {} }
          ])
      })
    ]
    twoProcesses(
      {
        ...asks,
        tools: slow,
        scripts: calling("act"),
        dies: 1_000,
        program: Effect.zip(go, Effect.delay(answered("once"), 500), { concurrent: true })
      },
      {
        ...asks,
        tools: slow,
        scripts: { build: ["All right"] },
        program: (id) =>
          Effect.gen(function*() {
            const permission = yield* Permission
            const waiting = yield* Effect.fork(resumed(id))
            yield* Effect.sleep(100)
            const pending = yield* permission.pending()
            expect(pending.map(({ patterns }) => patterns)).toEqual([["y"]])
            yield* permission.reply(pending[0]!.id, "once")
            yield* Fiber.join(waiting)
          })
      }
    )
    expect(runs).toEqual([])
  })
})

describe("what was stopped", () => {
  it("stays stopped, with all below it, though the process died before it had ended", () => {
    const deaf = (life: Life) => [
      SkeinTest.tool("slow", () => life.alive(Effect.uninterruptible(Effect.as(Effect.sleep("1 hour"), "done"))), {
        effect: "never"
      })
    ]
    twoProcesses(
      {
        tools: deaf,
        scripts: {
          build: [{
            calls: [
              { tool: "slow" },
              { tool: "task", input: { description: "d", prompt: "p", subagent_type: "worker", background: true } }
            ]
          }],
          worker: [Scripted.call("slow", {})]
        },
        dies: 1_000,
        program: Effect.gen(function*() {
          const { id } = yield* root()
          yield* Effect.fork(Session.prompt(id, "Go"))
          yield* Effect.sleep(500)
          yield* Effect.flatMap(Session, (session) => session.stop(id))
        })
      },
      {
        tools: deaf,
        scripts: { build: ["again"], worker: ["never asked"] },
        program: (id, script) =>
          Effect.gen(function*() {
            const session = yield* Session
            yield* session.resume(id)
            yield* session.untilIdle(id)
            expect(script.requests).toEqual([])
            yield* expectStill(id, script)
            // What became of the task is told at the next prompt, and wakes nobody before.
            yield* Session.prompt(id, "And now?")
            expect(JSON.stringify(script.requests[0]?.messages)).toContain(`status=\\"stopped\\"`)
          })
      }
    )
  })

  it("stays stopped where a program had started it in a session that was never prompted", () => {
    const deaf = (life: Life) => [
      SkeinTest.tool("slow", () => life.alive(Effect.uninterruptible(Effect.as(Effect.sleep("1 hour"), "done"))), {
        effect: "never"
      })
    ]
    twoProcesses(
      {
        tools: deaf,
        scripts: { worker: [Scripted.call("slow", {})] },
        dies: 1_000,
        program: Effect.gen(function*() {
          const { id } = yield* root()
          const tasks = yield* Tasks
          yield* tasks.run({
            parentID: id,
            agent: "worker",
            description: "d",
            prompt: "p",
            background: true,
            byUser: true
          })
          yield* Effect.sleep(500)
          yield* Effect.flatMap(Session, (session) => session.stop(id))
        })
      },
      {
        tools: deaf,
        scripts: { build: ["never asked"], worker: ["never asked"] },
        program: (id, script) =>
          Effect.gen(function*() {
            yield* resumed(id)
            expect(script.requests).toEqual([])
            yield* expectStill(id, script)
          })
      }
    )
  })

  it("was stopped alone: a task that was told to end does not go on, and its session does", () => {
    const deaf = (life: Life) => [
      SkeinTest.tool("slow", () => life.alive(Effect.uninterruptible(Effect.as(Effect.sleep("1 hour"), "done"))), {
        effect: "never"
      })
    ]
    twoProcesses(
      {
        tools: deaf,
        scripts: {
          build: [Scripted.tasks({ worker: "Work" })],
          worker: [Scripted.call("slow", {})]
        },
        dies: 1_000,
        program: Effect.gen(function*() {
          const { id } = yield* root()
          yield* Effect.fork(Session.prompt(id, "Go"))
          yield* Effect.sleep(500)
          const [child] = yield* childrenOf(id)
          yield* Effect.flatMap(
            Tasks,
            (tasks) => tasks.stop({ parentID: id, taskID: child!.id }, { by: "the user", reason: "enough" })
          )
        })
      },
      {
        tools: deaf,
        scripts: { build: ["So it was stopped"], worker: ["never asked"] },
        program: (id, script) =>
          Effect.gen(function*() {
            expect((yield* resumed(id))?.text).toBe("So it was stopped")
            const [call] = yield* callsMade(id)
            expect(said(call!)).toMatch(/state: stopped[^]*the user: enough/)
            expect(script.requests.map(({ origin }) => origin.path.join("/"))).toEqual(["build"])
          })
      }
    )
  })
})

describe("a task that nobody waits for any more", () => {
  it("is lost where the program that asked for it died, and says what there was", () => {
    twoProcesses(
      {
        scripts: { worker: [{ text: "half of it", pieces: 2, delay: { between: 10_000 } }] },
        dies: 5_000,
        program: Effect.gen(function*() {
          const { id } = yield* root()
          const tasks = yield* Tasks
          yield* tasks.run({
            parentID: id,
            agent: "worker",
            description: "d",
            prompt: "p",
            byUser: true,
            promotable: false
          })
        })
      },
      {
        scripts: { build: ["Yes"], worker: ["and on"] },
        program: (id, script) =>
          Effect.gen(function*() {
            const bus = yield* Bus
            expect(bus).toBeDefined()
            yield* resumed(id)
            const [child] = yield* childrenOf(id)
            const tasks = yield* Tasks
            const { settled } = yield* tasks.wait({ parentID: id, taskIDs: [child!.id] })
            expect(settled).toMatchObject([{ status: "lost", text: "half" }])
            expect(script.requests).toEqual([])
            yield* expectStill(id, script)
          })
      }
    )
  })
})

describe("what was said to a task", () => {
  it("is read by it though it had settled, and the process died before a run began for it", () => {
    let taskID = "" as SessionID
    twoProcesses(
      {
        scripts: { build: [Scripted.tasks({ worker: "Work" }), "done"], worker: ["first"] },
        dies: 1_000,
        program: Effect.gen(function*() {
          const { id } = yield* root()
          yield* Session.prompt(id, "Go")
          const [child] = yield* childrenOf(id)
          taskID = child!.id
          const storage = yield* SessionStorage
          const parts = [{ type: "text", text: "One thing more" }] as const
          const row = {
            id: "msg_zzz" as MessageID,
            sessionID: taskID,
            kind: "steer",
            parts,
            time: { created: 1 }
          } as const
          yield* storage.commit([{ _tag: "Inbox", row }])
        })
      },
      {
        scripts: { build: ["I see"], worker: ["second"] },
        program: (id, script) =>
          Effect.gen(function*() {
            expect((yield* resumed(id))?.text).toBe("I see")
            expect(script.requests.map(({ origin }) => origin.path.join("/"))).toEqual(["build/worker", "build"])
            expect(JSON.stringify(yield* messagesOf(taskID))).toContain("One thing more")
            yield* expectStill(id, script)
          })
      }
    )
  })
})

describe("tasks below tasks", () => {
  it("go on at every level, and each caller is told by its own", () => {
    const runs: Array<string> = []
    const tools = tool("look", { effect: "safe" }, runs)
    twoProcesses(
      {
        tools,
        scripts: {
          build: [Scripted.tasks({ lead: "Lead" })],
          lead: [Scripted.tasks({ worker: "Work" })],
          worker: [Scripted.call("look", {})]
        },
        dies: 1_000,
        program: go
      },
      {
        tools,
        scripts: { build: ["All right"], lead: ["The worker says so"], worker: ["I looked"] },
        program: (id, script) =>
          Effect.gen(function*() {
            expect((yield* resumed(id))?.text).toBe("All right")
            const [lead] = yield* childrenOf(id)
            const [worker] = yield* childrenOf(lead!.id)
            expect(said((yield* callsMade(id))[0]!)).toContain("The worker says so")
            expect(said((yield* callsMade(lead!.id))[0]!)).toContain("I looked")
            expect(yield* messagesOf(worker!.id)).toHaveLength(3)
            yield* expectStill(id, script)
          })
      }
    )
  })
})
