/** The models of turns that a process left: they do not change by themselves. */
import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import type { SessionID } from "@skein/domain/Id"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { asked, type Generation, generations, go, resumed } from "./support/generations.ts"
import { childrenOf } from "./support/tree.ts"

const options = { agents: [SkeinTest.agent("worker")] }

/** Begins a turn with the model `corp`, and dies before its answer. */
const begins = { options, modelID: "corp", scripts: { build: [{ hangs: true }] }, dies: 1_000, program: go } as const

const turnOf = (id: SessionID) => Effect.map(Effect.flatMap(Session, ({ get }) => get(id)), ({ turn }) => turn)

/** A process that has another model, and so leaves the turn open. */
const without = (scripts: Generation["scripts"]): Generation => ({
  options,
  modelID: "other",
  scripts,
  program: (id, script) =>
    Effect.gen(function*() {
      const session = yield* Session
      const before = yield* turnOf(id)
      for (const asking of [session.resume(id), session.prompt(id, "And?")]) {
        const error = yield* Effect.flip(asking)
        expect(error).toMatchObject({ _tag: "ModelUnavailable", model: "scripted/corp", reason: "unknown_model" })
        expect(error.message).toContain("The model scripted/corp is not set up here")
        expect(error.message).toContain("--model PROVIDER/MODEL")
      }
      expect(yield* turnOf(id)).toEqual(before)
      expect(before?.ended).toBeUndefined()
      expect(yield* session.status(id)).toEqual({ type: "idle" })
      expect(asked(script)).toEqual([])
    })
})

describe("a process without the model with which an open turn began", () => {
  it("leaves the turn open, and one that has the model continues it", () => {
    generations(begins, without({ build: ["Not I"] }), {
      options,
      modelID: "corp",
      scripts: { build: ["All is done."] },
      program: (id) =>
        Effect.gen(function*() {
          expect(yield* resumed(id)).toMatchObject({ text: "All is done.", info: { modelID: "corp" } })
        })
    })
  })

  it("leaves a task open, and one that has the model continues it", () => {
    const scripts = { build: [Scripted.tasks({ worker: "Work" }), "All is done."], worker: [{ hangs: true }] }
    generations(
      { ...begins, scripts },
      without({ build: ["Not I"], worker: ["Nor I"] }),
      {
        options,
        modelID: "corp",
        scripts: { build: ["All is done."], worker: ["found"] },
        program: (id) =>
          Effect.gen(function*() {
            expect(yield* resumed(id)).toMatchObject({ text: "All is done." })
            const [child] = yield* childrenOf(id)
            expect(yield* turnOf(child!.id)).toMatchObject({ ended: { how: "completed" } })
          })
      }
    )
  })

  it("continues it with the model that a person names, and its tasks as well", () => {
    const scripts = { build: [Scripted.tasks({ worker: "Work" }), "All is done."], worker: [{ hangs: true }] }
    generations({ ...begins, scripts }, {
      options,
      modelID: "other",
      scripts: { build: ["All is done.", "More"], worker: ["found"] },
      program: (id, script) =>
        Effect.gen(function*() {
          const model = { providerID: "scripted", modelID: "other" }
          const missing = yield* Effect.flip(Session.prompt(id, "Go on", { model: { ...model, modelID: "none" } }))
          expect(missing).toMatchObject({ _tag: "ModelUnavailable", model: "scripted/none" })
          const turn = yield* Session.prompt(id, "Go on", { model })
          expect(turn).toMatchObject({ info: { modelID: "other" } })
          expect(asked(script)).toContain("build/worker")
        })
    })
  })

  it("settles it if it is stopped", () => {
    generations(begins, {
      options,
      modelID: "other",
      scripts: { build: ["Here I am"] },
      program: (id) =>
        Effect.gen(function*() {
          yield* Effect.flatMap(Session, ({ stop }) => stop(id))
          expect(yield* turnOf(id)).toMatchObject({ ended: { how: "stopped" } })
          expect(yield* Session.prompt(id, "Hello")).toMatchObject({ text: "Here I am", info: { modelID: "other" } })
        })
    })
  })
})

it("a turn continues with the model with which it began, although the default is another one now", () => {
  const usual = Scripted.make({ build: ["from the default"] }, { modelID: "other" })
  generations(begins, {
    options,
    modelID: "corp",
    usual,
    scripts: { build: ["All is done."] },
    program: (id) =>
      Effect.gen(function*() {
        expect(yield* resumed(id)).toMatchObject({ text: "All is done.", info: { modelID: "corp" } })
        expect(yield* Session.prompt(id, "And now?")).toMatchObject({ info: { modelID: "other" } })
      })
  })
})
