import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Tasks } from "@skein/core/Tasks"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { asked, type Generation, generations, go, resumed } from "./support/generations.ts"
import type { Life } from "./support/mortal.ts"
import { callsMade, childrenOf, expectStill, treeOf } from "./support/tree.ts"

const task = (description: string, subagent_type: string, background: boolean) => ({
  tool: "task",
  input: { description, prompt: description, subagent_type, background }
})

type Request = Scripted.Scripted["requests"][number]

const callsThen = (calls: ReadonlyArray<object>, text: string) => ({ messages }: Request) =>
  messages.some(({ role }) => role === "tool") ? text : { calls: calls as ReadonlyArray<ReturnType<typeof task>> }

/** A root that waits for a task, which waits for its own task, next to background tasks. */
const same: Omit<Generation, "program"> = {
  options: {
    agents: [SkeinTest.agent("lead", { permission: { task: "allow" } }), SkeinTest.agent("worker")],
    config: { limits: { concurrency: 3 } }
  },
  tools: (life: Life) => [
    SkeinTest.tool("slow", () => life.alive(Effect.as(Effect.sleep("1 minute"), "slept")))
  ],
  scripts: {
    build: callsThen([task("lead", "lead", false), task("beside", "worker", true)], "the end"),
    lead: callsThen([task("awaited", "worker", false), task("behind", "worker", true)], "led"),
    worker: (request) => {
      const next = callsThen([{ tool: "slow" }], "worked")(request)
      return typeof next === "string" ? { text: next, delay: { first: 5_000 } } : next
    }
  },
  latency: 1
}

const crashed = { ...same, dies: 1_000, program: go }

const runs = (rootID: SessionID) =>
  Effect.map(Effect.flatMap(SessionStorage, (storage) => storage.runs({ rootID })), ({ rows }) => rows)

const statuses = (rootID: SessionID) =>
  Effect.map(
    runs(rootID),
    (rows) => Object.fromEntries(rows.map(({ description, outcome, state }) => [description, outcome?.status ?? state]))
  )

const allStopped = { lead: "stopped", beside: "stopped", awaited: "stopped", behind: "stopped" }

/** Nothing of the tree works, and nothing is left to continue. */
const expectStopped = Effect.fnUntraced(function*(id: SessionID, script: Scripted.Scripted) {
  const before = asked(script)
  const session = yield* Session
  expect(yield* session.status(id)).toEqual({ type: "idle" })
  expect(yield* statuses(id)).toEqual(allStopped)
  expect((yield* treeOf(id)).map(({ turn }) => turn?.ended?.how)).toEqual(Array(5).fill("stopped"))
  yield* Effect.sleep("1 hour")
  expect(asked(script)).toEqual(before)
  yield* expectStill(id, script)
})

/** It does not work after a resume either. */
const expectStaysStopped = Effect.fnUntraced(function*(id: SessionID, script: Scripted.Scripted) {
  yield* expectStopped(id, script)
  const before = asked(script)
  expect(yield* Effect.flatMap(SessionStorage, ({ unfinished }) => unfinished)).toEqual([])
  yield* Effect.flatMap(Session, (session) => session.resume(id))
  yield* expectStopped(id, script)
  expect(asked(script)).toEqual(before)
})

describe("a tree of a dead process", () => {
  it("stays stopped when it is stopped before a resume", () => {
    generations(crashed, {
      ...same,
      program: (id, script) =>
        Effect.gen(function*() {
          yield* Effect.flatMap(Session, (session) => session.stop(id, "the user"))
          expect((yield* runs(id)).map(({ outcome }) => outcome?.status === "stopped" && outcome.by)).toEqual(
            Array(4).fill("the user")
          )
          yield* expectStaysStopped(id, script)
          // The outcome of its task is reported with the next prompt.
          yield* Session.prompt(id, "And now?")
          expect(JSON.stringify(script.requests[0]?.messages)).toContain(`status=\\"stopped\\"`)
        })
    })
  })

  it("stays stopped when it is stopped during recovery, at any time", () => {
    for (const how of ["resume", "prompt"] as const) {
      for (const after of [0, 3, 8, 22]) {
        generations(crashed, {
          ...same,
          program: (id, script) =>
            Effect.gen(function*() {
              const session = yield* Session
              yield* Effect.fork(Effect.exit(how === "resume" ? session.resume(id) : session.prompt(id, "And now?")))
              yield* Effect.sleep(after)
              yield* session.stop(id)
              // An unread prompt waits for the next one.
              yield* expectStaysStopped(id, script)
            })
        })
      }
    }
  })

  it("stays with its next holder when it is left during recovery", () => {
    for (const after of [0, 3, 8, 22]) {
      generations(crashed, {
        ...same,
        program: (id, script) =>
          Effect.gen(function*() {
            const session = yield* Session
            yield* Effect.fork(Effect.exit(session.resume(id)))
            yield* Effect.sleep(after)
            yield* session.leave(id)
            const before = asked(script)
            yield* Effect.sleep("1 hour")
            expect(asked(script)).toEqual(before)
          })
      }, {
        ...same,
        program: (id, script) =>
          Effect.gen(function*() {
            expect((yield* resumed(id))?.text).toBe("the end")
            expect(new Set(Object.values(yield* statuses(id)))).toEqual(new Set(["completed"]))
            yield* expectStill(id, script)
          })
      })
    }
  })

  it("continues without a task that is stopped with its session before a resume", () => {
    generations(crashed, {
      ...same,
      program: (id, script) =>
        Effect.gen(function*() {
          const lead = (yield* childrenOf(id)).find(({ title }) => title.startsWith("lead"))!
          yield* Effect.flatMap(Session, (session) => session.stop(lead.id))
          expect(asked(script)).toEqual([])
          expect((yield* resumed(id))?.text).toBe("the end")
          expect(yield* statuses(id)).toEqual({ ...allStopped, beside: "completed" })
          expect((yield* callsMade(id)).map(({ state }) => state.status)).toEqual(["error", "completed"])
          yield* expectStill(id, script)
        })
    })
  })
})

describe("the controls of tasks in a tree of a dead process", () => {
  const controlled = (
    program: (
      name: { readonly parentID: SessionID; readonly taskID: SessionID },
      script: Scripted.Scripted
    ) => ReturnType<Generation["program"]>
  ) =>
    generations(crashed, {
      ...same,
      program: (id, script) =>
        Effect.gen(function*() {
          const beside = (yield* childrenOf(id)).find(({ title }) => title.startsWith("beside"))!
          yield* program({ parentID: id, taskID: beside.id }, script)
          yield* Effect.sleep("1 hour")
          yield* expectStill(id, script)
        })
    })

  it("deliver a message to the remaining run", () => {
    controlled((name) =>
      Effect.gen(function*() {
        const tasks = yield* Tasks
        expect(yield* tasks.message(name, "Hurry")).toBe("steered")
        yield* Effect.sleep("1 hour")
        expect(yield* runs(name.parentID)).toHaveLength(4)
        expect(new Set(Object.values(yield* statuses(name.parentID)))).toEqual(new Set(["completed"]))
        const history = JSON.stringify(yield* Effect.flatMap(Session, (session) => session.messages(name.taskID)))
        expect(history.split("Hurry")).toHaveLength(2)
      })
    )
  })

  it("stop the remaining run, which does nothing more", () => {
    controlled((name, script) =>
      Effect.gen(function*() {
        const tasks = yield* Tasks
        const by = { by: "the user", reason: "enough" }
        expect(yield* tasks.stop(name, by)).toMatchObject([{ status: "stopped", by: "the user: enough" }])
        yield* Effect.sleep("1 hour")
        expect(yield* statuses(name.parentID)).toMatchObject({ beside: "stopped", lead: "completed" })
        const mine = (request: Request) => JSON.stringify(request.messages).includes("\"beside\"")
        expect(script.requests.filter((request) => request.origin.path.length === 2 && mine(request))).toEqual([])
      })
    )
  })

  it("wait for the remaining run", () => {
    controlled(({ parentID, taskID }) =>
      Effect.gen(function*() {
        const tasks = yield* Tasks
        expect((yield* tasks.wait({ parentID, taskIDs: [taskID] })).settled).toMatchObject([{ status: "completed" }])
      })
    )
  })

  it("promote the remaining run to the background", () => {
    controlled(({ parentID }) =>
      Effect.gen(function*() {
        const tasks = yield* Tasks
        const lead = (yield* childrenOf(parentID)).find(({ title }) => title.startsWith("lead"))!
        expect(yield* Effect.exit(tasks.promote({ parentID, taskID: lead.id }))).toMatchObject({ _tag: "Success" })
      })
    )
  })
})
