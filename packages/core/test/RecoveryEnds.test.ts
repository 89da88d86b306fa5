import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { Tasks } from "@skein/core/Tasks"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import { seeds, share } from "@skein/testing/Seeds"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { asked, type Generation, generations, go, resumed } from "./support/generations.ts"
import { callsMade, childrenOf, expectStill, messagesOf, resultOf, root } from "./support/tree.ts"

const lead = SkeinTest.agent("lead", { permission: { task: "allow" } })
const worker = SkeinTest.agent("worker")
const options = { agents: [lead, worker] }

const never = { text: "never", delay: { first: 100_000 } }

const runsOf = (rootID: SessionID) =>
  Effect.map(Effect.flatMap(SessionStorage, (storage) => storage.runs({ rootID })), ({ rows }) => rows)

const task = (agent: string, prompt: string, background: boolean) => ({
  tool: "task",
  input: { description: prompt, prompt, subagent_type: agent, ...(background ? { background } : {}) }
})

/** Recovers a tree in which everything has ended. */
const nothingLeft: Generation = {
  options,
  scripts: { build: ["no"], lead: ["no"], worker: ["no"] },
  program: (id, script) =>
    Effect.gen(function*() {
      yield* resumed(id)
      expect(asked(script)).toEqual([])
      yield* expectStill(id, script)
    })
}

describe("a task that ends without further work", () => {
  it("does not begin again when its tree is recovered once more", () => {
    generations(
      {
        options,
        scripts: { worker: [never] },
        dies: 1_000,
        program: Effect.gen(function*() {
          const { id } = yield* root()
          const request = { parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true }
          yield* Effect.flatMap(Tasks, (tasks) => tasks.run({ ...request, promotable: false }))
        })
      },
      nothingLeft,
      nothingLeft
    )
  })

  it("is reported to the waiting call if its agent no longer exists, and its own tasks end with it", () => {
    generations(
      {
        options,
        scripts: {
          build: [Scripted.tasks({ lead: "Lead" })],
          lead: [Scripted.tasks({ worker: "Work" })],
          worker: [never]
        },
        dies: 1_000,
        program: go
      },
      {
        options: { agents: [worker] },
        scripts: { build: ["I see"], worker: ["no"] },
        program: (id, script) =>
          Effect.gen(function*() {
            expect((yield* resumed(id))?.text).toBe("I see")
            expect(resultOf((yield* callsMade(id))[0]!)).toContain("agent lead no longer exists")
            expect(asked(script)).toEqual(["build"])
            expect((yield* runsOf(id)).map(({ outcome }) => outcome?.status)).toEqual(["failed", "stopped"])
            yield* expectStill(id, script)
          })
      },
      nothingLeft
    )
  })

  it("ends with its own tasks if a stop was requested, at whichever commit its process dies", () => {
    let stopped = 0
    for (const at of seeds(12, 40)) {
      generations(
        {
          options,
          scripts: {
            build: [{ calls: [task("lead", "Lead", true)] }, "Begun"],
            lead: [{ calls: [task("worker", "Beside", true), task("worker", "Awaited", false)] }, "Concluded"],
            worker: [never]
          },
          dies: { at, made: true },
          program: Effect.gen(function*() {
            const { id } = yield* root()
            yield* Session.prompt(id, "Go")
            yield* Effect.sleep(1_000)
            const [child] = yield* childrenOf(id)
            const tasks = yield* Tasks
            yield* tasks.stop({ parentID: id, taskID: child!.id }, { by: "the user" })
            yield* Effect.sleep(1_000)
          })
        },
        {
          ...nothingLeft,
          program: (id, script) =>
            Effect.gen(function*() {
              const [first] = yield* runsOf(id)
              yield* resumed(id)
              yield* expectStill(id, script)
              if (first?.stop === undefined) return
              stopped++
              expect((yield* runsOf(id)).map(({ outcome }) => outcome?.status)).toEqual([
                "stopped",
                "stopped",
                "stopped"
              ])
              expect(asked(script).filter((path) => path !== "build")).toEqual([])
            })
        },
        nothingLeft
      )
    }
    expect(stopped).toBeGreaterThan(share(5))
  })

  it("does not begin again for a prompt that it never read", () => {
    for (const at of [3, 4, 5, 6, 7, 8, 16, 17, 18]) {
      generations(
        {
          options,
          scripts: {
            build: [Scripted.tasks({ lead: "Lead" })],
            lead: [Scripted.tasks({ worker: "One" }, { worker: "Two" })],
            worker: [never]
          },
          dies: { at, made: true },
          program: go
        },
        {
          ...nothingLeft,
          program: (id, script) =>
            Effect.gen(function*() {
              yield* Effect.sleep(1_000)
              yield* Effect.flatMap(Session, (session) => session.stop(id))
              const outcomes = (yield* runsOf(id)).map(({ outcome }) => outcome?.status)
              expect(outcomes.filter((status) => status !== "stopped")).toEqual([])
              yield* expectStill(id, script)
            })
        },
        nothingLeft
      )
    }
  })

  it("does not begin again if its program died right after it had stored the prompt", () => {
    for (const at of [2, 3, 4, 5, 6]) {
      generations(
        {
          options,
          scripts: { worker: [never] },
          dies: { at, made: true },
          program: Effect.gen(function*() {
            const { id } = yield* root()
            const request = { parentID: id, agent: "worker", description: "d", prompt: "p", byUser: true }
            yield* Effect.flatMap(Tasks, (tasks) => tasks.run({ ...request, promotable: false }))
          })
        },
        nothingLeft,
        nothingLeft
      )
    }
  })
})

describe("a resumed task", () => {
  it("reads its prompt once, even if its process died right after it had stored that", () => {
    for (const at of [3, 4, 5, 6]) {
      generations(
        {
          options,
          scripts: { build: [Scripted.tasks({ worker: "Work" })], worker: [never] },
          dies: { at, made: true },
          program: go
        },
        {
          options,
          scripts: { build: [Scripted.tasks({ worker: "Work" }), "I see"], worker: ["Done"] },
          program: (id) =>
            Effect.gen(function*() {
              yield* resumed(id)
              for (const child of yield* childrenOf(id)) {
                expect((yield* messagesOf(child.id)).filter(({ info }) => info.role === "user")).toHaveLength(1)
              }
            })
        }
      )
    }
  })

  it("reads its prompt even if a message to it arrived before", () => {
    generations(
      {
        options: { ...options, config: { limits: { concurrency: 1 } } },
        scripts: {
          build: [{ calls: [task("worker", "One", true), task("worker", "Two", true)] }, "Begun"],
          worker: [never]
        },
        dies: 2_000,
        program: Effect.gen(function*() {
          const { id } = yield* root()
          yield* Effect.fork(Session.prompt(id, "Go"))
          yield* Effect.sleep(1_000)
          const waits = (yield* runsOf(id)).find(({ state }) => state === "queued")
          const tasks = yield* Tasks
          yield* tasks.message({ parentID: id, taskID: waits!.taskID }, "And this")
          yield* Effect.never
        })
      },
      {
        options,
        scripts: { build: ["I see"], worker: ["Done"] },
        program: (id) =>
          Effect.gen(function*() {
            yield* resumed(id)
            const [, second] = yield* runsOf(id)
            const history = JSON.stringify(yield* messagesOf(second!.taskID))
            expect(history).toContain("And this")
            expect(history).toContain(second!.prompt)
          })
      }
    )
  })

  it("is not asked again if its process dies a second time, after its turn and before it has settled", () => {
    for (const at of seeds(1, 8)) {
      generations(
        {
          options,
          scripts: { build: [Scripted.tasks({ worker: "Work" })], worker: [never] },
          dies: 1_000,
          program: go
        },
        {
          options,
          scripts: { build: ["I see"], worker: [{ text: "Done", delay: { first: 500 } }] },
          dies: { at, made: true },
          program: resumed
        },
        {
          options,
          scripts: { build: ["I see"], worker: ["Done"] },
          program: (id) =>
            Effect.gen(function*() {
              yield* Effect.sleep(1_000)
              yield* resumed(id)
              const [child] = yield* childrenOf(id)
              expect((yield* messagesOf(child!.id)).filter(({ info }) => info.role === "user")).toHaveLength(1)
              expect((yield* runsOf(id)).map(({ outcome }) => outcome?.text)).toEqual(["Done"])
            })
        }
      )
    }
  })

  it("answers both of two runs, even if the later one in the background is recovered first", () => {
    generations(
      {
        options,
        scripts: { build: [Scripted.tasks({ worker: "One" })], worker: [never] },
        dies: 2_000,
        program: Effect.gen(function*() {
          const { id } = yield* root()
          yield* Effect.fork(Session.prompt(id, "Go"))
          yield* Effect.sleep(1_000)
          const [child] = yield* childrenOf(id)
          const request = { parentID: id, agent: "worker", description: "later", prompt: "Two", taskID: child!.id }
          yield* Effect.flatMap(Tasks, (tasks) => tasks.run({ ...request, background: true, byUser: true }))
          yield* Effect.never
        })
      },
      {
        options,
        scripts: { build: ["I see"], worker: ["Done"] },
        program: (id, script) =>
          Effect.gen(function*() {
            yield* resumed(id)
            const [child] = yield* childrenOf(id)
            const history = JSON.stringify(yield* messagesOf(child!.id))
            for (const words of ["One", "Two"]) expect(history).toContain(`"${words}"`)
            expect((yield* runsOf(id)).map(({ outcome }) => outcome?.text)).toEqual(["Done", "Done"])
            yield* expectStill(id, script)
          })
      }
    )
  })
})

describe("a disposable task", () => {
  for (const background of [false, true]) {
    it(`leaves none${background ? " in the background" : ""}, at whichever commit its process dies`, () => {
      const scripts: Generation["scripts"] = {
        build: ({ messages }) =>
          messages.some(({ role }) => role === "tool")
            ? "I see"
            : { calls: [{ tool: "task", input: { ...task("worker", "Work", background).input, cleanup: "delete" } }] },
        worker: ["Done"]
      }
      for (const at of seeds(4, 20)) {
        generations({ options, scripts, dies: { at, made: true }, program: go }, {
          options,
          scripts,
          program: (id) =>
            Effect.gen(function*() {
              yield* resumed(id)
              expect(yield* childrenOf(id)).toEqual([])
              expect((yield* callsMade(id)).map(({ state }) => state.status)).not.toContain("error")
            })
        })
      }
    })
  }
})
