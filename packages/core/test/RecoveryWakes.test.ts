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
import { callsMade, childrenOf, expectStill, root } from "./support/tree.ts"

const agents = [SkeinTest.agent("lead", { permission: { task: "allow" } }), SkeinTest.agent("worker")]

const task = (description: string, subagent_type: string, background = false) => ({
  tool: "task",
  input: { description, prompt: description, subagent_type, background }
})

type Request = Scripted.Scripted["requests"][number]

/** Makes these calls first, and answers once it has their results. */
const callsThen = (calls: ReadonlyArray<ReturnType<typeof task>>, text: string) => ({ messages }: Request) =>
  messages.some(({ role }) => role === "tool") ? text : { calls }

/** Works for a while: `quick` for one second, everything else for four. */
const worker = ({ messages }: Request) => {
  if (messages.some(({ role }) => role === "tool")) return "worked"
  return Scripted.call("work", { ms: JSON.stringify(messages).includes("quick") ? 1_000 : 4_000 })
}

const tools = (life: Life) => [
  SkeinTest.tool("work", ({ ms }) => life.alive(Effect.as(Effect.sleep(Number(ms)), "worked")))
]

const outcomes = (rootID: SessionID) =>
  Effect.map(
    Effect.flatMap(SessionStorage, (storage) => storage.runs({ rootID })),
    ({ rows }) =>
      Object.fromEntries(rows.map(({ description, outcome, state }) => [description, outcome?.status ?? state]))
  )

const childNamed = (id: SessionID, name: string) =>
  Effect.map(childrenOf(id), (all) => all.find(({ title }) => title.startsWith(name))!)

describe("a turn that a crash interrupted", () => {
  it("continues, and keeps its task, when a background task of its session ends while it waits for its slot", () => {
    const same: Omit<Generation, "program"> = {
      options: { agents, config: { limits: { concurrency: 2 } } },
      tools,
      scripts: {
        build: callsThen([task("first", "worker"), task("lead", "lead"), task("beside", "worker", true)], "the end"),
        lead: callsThen([task("awaited", "worker"), task("quick", "worker", true)], "led"),
        worker
      }
    }
    generations({ ...same, dies: 100, program: go }, {
      ...same,
      program: (id, script) =>
        Effect.gen(function*() {
          expect((yield* resumed(id))?.text).toBe("the end")
          expect([...new Set(Object.values(yield* outcomes(id)))]).toEqual(["completed"])
          const lead = yield* childNamed(id, "lead")
          expect((yield* callsMade(lead.id)).map(({ state }) => state.status)).toEqual(["completed", "completed"])
          yield* expectStill(id, script)
        })
    })
  })

  it("continues, and keeps its task, when one of its background tasks was being stopped", () => {
    const same: Omit<Generation, "program"> = {
      options: { agents },
      tools,
      scripts: {
        build: callsThen([task("awaited", "worker"), task("beside", "worker", true)], "the end"),
        // Too slow to conclude before the crash.
        worker: (request) => {
          const next = worker(request)
          return typeof next === "string" ? { text: next, delay: { first: 2_000 } } : next
        }
      }
    }
    generations(
      {
        ...same,
        dies: 1_000,
        program: Effect.gen(function*() {
          const { id } = yield* root()
          yield* Effect.fork(Session.prompt(id, "Go"))
          yield* Effect.sleep(500)
          const { id: taskID } = yield* childNamed(id, "beside")
          yield* Effect.flatMap(Tasks, (tasks) => tasks.stop({ parentID: id, taskID }, { by: "the user" }))
        })
      },
      {
        ...same,
        program: (id, script) =>
          Effect.gen(function*() {
            expect((yield* resumed(id))?.text).toBe("the end")
            expect(yield* outcomes(id)).toEqual({ awaited: "completed", beside: "stopped" })
            expect((yield* callsMade(id)).map(({ state }) => state.status)).toEqual(["completed", "completed"])
            yield* expectStill(id, script)
          })
      }
    )
  })

  it("does not continue in any later process if its task was stopped while it waited for its slot", () => {
    const same: Omit<Generation, "program"> = {
      options: { agents, config: { limits: { concurrency: 1 } } },
      tools,
      scripts: {
        build: callsThen([task("lead", "lead", true)], "told"),
        lead: callsThen([task("first", "worker", true), task("awaited", "worker")], "led"),
        worker
      }
    }
    generations(
      { ...same, dies: 1_000, program: Effect.zipRight(go, Effect.never) },
      {
        ...same,
        dies: 1_000,
        program: (id) =>
          Effect.gen(function*() {
            yield* Session.pipe(Effect.flatMap((session) => session.resume(id)))
            const lead = yield* childNamed(id, "lead")
            const tasks = yield* Tasks
            yield* tasks.stop({ parentID: id, taskID: lead.id }, { by: "the user" })
            yield* Effect.never
          })
      },
      {
        ...same,
        program: (id, script) =>
          Effect.gen(function*() {
            yield* resumed(id)
            expect(yield* outcomes(id)).toEqual({ lead: "stopped", first: "stopped", awaited: "stopped" })
            expect(asked(script)).toEqual([])
            yield* expectStill(id, script)
          })
      }
    )
  })
})
