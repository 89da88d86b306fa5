import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Tasks } from "@skein/core/Tasks"
import type { MessageID, SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { asked, generations, go, hourFirst, resumed } from "./support/generations.ts"
import { callsMade, childrenOf, expectStill, messagesOf, resultOf, root } from "./support/tree.ts"

const options = {
  agents: [SkeinTest.agent("worker"), SkeinTest.agent("lead", { permission: { task: "allow" } })]
}

describe("an abandoned task", () => {
  it("is lost if the program that started it died, and reports its partial result", () => {
    generations(
      {
        options,
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
        options,
        scripts: { build: ["Yes"], worker: ["and on"] },
        program: (id, script) =>
          Effect.gen(function*() {
            yield* resumed(id)
            const [child] = yield* childrenOf(id)
            const tasks = yield* Tasks
            const { settled } = yield* tasks.wait({ parentID: id, taskIDs: [child!.id] })
            expect(settled).toMatchObject([{ status: "lost", text: "half" }])
            expect(asked(script)).toEqual([])
            yield* expectStill(id, script)
          })
      }
    )
  })
})

it("a root whose task continues after a crash is in the step that started the task", () => {
  const slow = { text: "late", delay: { first: 600_000 } }
  generations(
    {
      options,
      scripts: { build: [Scripted.tasks({ worker: "Work" })], worker: [slow] },
      dies: 5_000,
      program: go
    },
    {
      options,
      scripts: { build: ["Yes"], worker: [slow] },
      program: (id) =>
        Effect.gen(function*() {
          const resuming = yield* Effect.fork(resumed(id))
          yield* Effect.sleep(5_000)
          const session = yield* Session
          expect(yield* session.status(id)).toEqual({ type: "busy", step: 1 })
          yield* Fiber.interrupt(resuming)
        })
    }
  )
})

describe("a message to a task", () => {
  it("is read even if the task had settled, and the process died before a run began for it", () => {
    let taskID = "" as SessionID
    generations(
      {
        options,
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
        options,
        scripts: { build: ["I see"], worker: ["second"] },
        program: (id, script) =>
          Effect.gen(function*() {
            expect((yield* resumed(id))?.text).toBe("I see")
            expect(asked(script)).toEqual(["build/worker", "build"])
            expect(JSON.stringify(yield* messagesOf(taskID))).toContain("One thing more")
            yield* expectStill(id, script)
          })
      }
    )
  })
})

describe("tasks below tasks", () => {
  it("continue at every level, and each caller gets its own results", () => {
    const runs: Array<string> = []
    const tools = hourFirst("look", { effect: "safe" }, runs)
    generations(
      {
        options,
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
        options,
        tools,
        scripts: { build: ["All right"], lead: ["The worker says so"], worker: ["I looked"] },
        program: (id, script) =>
          Effect.gen(function*() {
            expect((yield* resumed(id))?.text).toBe("All right")
            const [lead] = yield* childrenOf(id)
            const [worker] = yield* childrenOf(lead!.id)
            expect(resultOf((yield* callsMade(id))[0]!)).toContain("The worker says so")
            expect(resultOf((yield* callsMade(lead!.id))[0]!)).toContain("I looked")
            expect(yield* messagesOf(worker!.id)).toHaveLength(3)
            yield* expectStill(id, script)
          })
      }
    )
  })
})
