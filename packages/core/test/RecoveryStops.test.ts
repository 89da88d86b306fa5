import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { Tasks } from "@skein/core/Tasks"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { asked, generations, resumed } from "./support/generations.ts"
import type { Life } from "./support/mortal.ts"
import { callsMade, childrenOf, expectStill, resultOf, root } from "./support/tree.ts"

const options = { agents: [SkeinTest.agent("worker")] }

/** A tool that takes an hour and cannot be interrupted. */
const deaf = (life: Life) => [
  SkeinTest.tool("slow", () => life.alive(Effect.uninterruptible(Effect.as(Effect.sleep("1 hour"), "done"))), {
    effect: "never"
  })
]

describe("a stopped session", () => {
  it("stays stopped, with everything below it, even if the process died before the stop had ended", () => {
    generations(
      {
        options,
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
        options,
        tools: deaf,
        scripts: { build: ["again"], worker: ["never asked"] },
        program: (id, script) =>
          Effect.gen(function*() {
            const session = yield* Session
            yield* session.resume(id)
            yield* session.untilIdle(id)
            expect(asked(script)).toEqual([])
            yield* expectStill(id, script)
            // The outcome of the task is reported with the next prompt, and wakes nothing before.
            yield* Session.prompt(id, "And now?")
            expect(JSON.stringify(script.requests[0]?.messages)).toContain(`status=\\"stopped\\"`)
          })
      }
    )
  })

  it("stays stopped if a program had started its task and it was never prompted", () => {
    generations(
      {
        options,
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
        options,
        tools: deaf,
        scripts: { build: ["never asked"], worker: ["never asked"] },
        program: (id, script) =>
          Effect.gen(function*() {
            yield* resumed(id)
            expect(asked(script)).toEqual([])
            yield* expectStill(id, script)
          })
      }
    )
  })

  it("continues if only its task was stopped, and the task does not continue", () => {
    generations(
      {
        options,
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
        options,
        tools: deaf,
        scripts: { build: ["So it was stopped"], worker: ["never asked"] },
        program: (id, script) =>
          Effect.gen(function*() {
            expect((yield* resumed(id))?.text).toBe("So it was stopped")
            const [call] = yield* callsMade(id)
            expect(resultOf(call!)).toMatch(/state: stopped[^]*the user: enough/)
            expect(asked(script)).toEqual(["build"])
          })
      }
    )
  })
})
