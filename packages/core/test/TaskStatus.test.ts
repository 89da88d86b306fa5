import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { Tasks } from "@skein/core/Tasks"
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { root } from "./support/tree.ts"

const agents = [SkeinTest.agent("worker"), SkeinTest.agent("lead", { permission: { task: "allow" } })]
const all = (...agents: ReadonlyArray<string>) =>
  Scripted.call(
    "task",
    ...agents.map((agent, at) => ({ description: "d", prompt: `p${at}`, subagent_type: agent, background: true }))
  )
const slow = Scripted.text("done", { delay: { first: 60_000 } })
const guarded = SkeinTest.tool("guarded", () => Effect.succeed("ok"), {
  authorise: () => Effect.succeed([{ permission: "guarded", patterns: ["*"], always: [], metadata: {} }])
})

/** The status of the tasks of a root one second after they started. */
const doing = (script: Scripted.Scripted, limits: ConfigInfo["limits"] = {}) =>
  Effect.gen(function*() {
    const { id } = yield* root()
    const tasks = yield* Tasks
    const session = yield* Session
    yield* Effect.fork(session.prompt(id, "Go"))
    yield* TestClock.adjust("1 second")
    return (yield* tasks.status({ parentID: id })).map((status) => status.doing)
  }).pipe(
    Effect.provide(SkeinTest.layer(script, {
      agents,
      tools: [guarded],
      rules: { guarded: "ask" },
      asks: "person",
      config: { limits: { ...limits } }
    }))
  )

describe("a waiting task reports that it waits", () => {
  it.effect("for a free slot, with its place in the queue", () =>
    Effect.gen(function*() {
      const script = Scripted.make({ build: [all("worker", "worker", "worker"), "begun"], worker: [slow] })
      expect(yield* doing(script, { concurrency: 1 })).toEqual([
        "waits for the model",
        "waits for a free slot, queued at position 1",
        "waits for a free slot, queued at position 2"
      ])
    }))

  it.effect("for the gate of its model", () =>
    Effect.gen(function*() {
      const script = Scripted.make({ build: [all("worker", "worker"), slow], worker: [slow] })
      const [first, second] = yield* doing(script, { requests: 1 })
      expect([first, second].toSorted().toReversed()).toEqual([
        expect.stringMatching(/^waits to ask the model, queued at position [12]$/),
        expect.stringMatching(/^waits (?:for the model|to ask the model, queued at position [12])$/)
      ])
    }))

  it.effect("for the next try, and until when", () =>
    Effect.gen(function*() {
      const fault = Scripted.fault("rate_limit", { retryAfter: 61_000, message: "Too many requests." })
      const script = Scripted.make({ build: [all("worker"), "begun"], worker: [fault, "done"] })
      expect(yield* doing(script)).toEqual([
        expect.stringMatching(
          /^tries the model again at 1970-01-01T00:01:0\d\.\d{3}Z \(attempt 1 failed\): Too many requests\.$/
        )
      ])
    }))

  it.effect("for its own tasks", () =>
    Effect.gen(function*() {
      const script = Scripted.make({
        build: [all("lead"), "begun"],
        lead: [all("worker", "worker"), "begun"],
        worker: [slow]
      })
      expect(yield* doing(script)).toEqual(["waits for 2 tasks of its own"])
    }))

  it.effect("for a person", () =>
    Effect.gen(function*() {
      const script = Scripted.make({ build: [all("worker"), "begun"], worker: [Scripted.call("guarded", {})] })
      expect(yield* doing(script)).toEqual(["waits for a person's answer"])
    }))
})
