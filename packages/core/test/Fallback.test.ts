import { describe, expect, it } from "@effect/vitest"
import { Provider } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { fault, make, text } from "@skein/testing/ScriptedProvider"
import { agent, layer } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import { root } from "./support/tree.ts"

const ref = (modelID: string) => ({ providerID: "scripted", modelID })

/** A tree with these models, whose agent names them in this order. */
const withModels = (first: ReturnType<typeof make>, second: ReturnType<typeof make>, names: ReadonlyArray<string>) =>
  layer({ ...first, layer: Provider.layerModels([first.model, second.model]) }, {
    agents: [agent("build", { mode: "primary", model: names.map(ref) })]
  })

const models = (script: Parameters<typeof make>[0]) =>
  [
    make(script, { modelID: "first" }),
    make({ build: [text("From the second.")] }, { modelID: "second" })
  ] as const

describe("an agent that names several models", () => {
  it.effect("is answered by the next one where a model fails for good, and nothing of the failed answer is lost", () => {
    const [first, second] = models({ build: [fault("auth", {}, { text: "I was ab" })] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      const turn = yield* Session.prompt(id, "Begin")
      expect(turn.text).toBe("From the second.")
      expect(turn.info).toMatchObject(ref("second"))
      expect([first.requests.length, second.requests.length]).toEqual([1, 1])
      const [, failed] = yield* Effect.flatMap(Session, (session) => session.messages(id))
      expect(failed?.info).toMatchObject({ ...ref("first"), error: { tag: "auth" } })
      expect(failed?.parts).toContainEqual(expect.objectContaining({ text: "I was ab", partial: true }))
    }).pipe(Effect.provide(withModels(first, second, ["first", "second"])))
  })

  it.effect("is answered by the next one where a model is not to be had", () => {
    const [first, second] = models({})
    return Effect.gen(function*() {
      const { id } = yield* root()
      expect((yield* Session.prompt(id, "Begin")).info).toMatchObject(ref("second"))
      expect(first.requests).toEqual([])
    }).pipe(Effect.provide(withModels(first, second, ["unknown", "second"])))
  })

  it.effect("fails as the last one does", () => {
    const [first, second] = models({ build: [fault("auth")] })
    return Effect.gen(function*() {
      const { id } = yield* root()
      expect(yield* Effect.flip(Session.prompt(id, "Begin"))).toMatchObject({ _tag: "ModelError", reason: "auth" })
      expect(second.requests.length).toBe(0)
    }).pipe(Effect.provide(withModels(first, second, ["unknown", "first"])))
  })

  it.effect("does not come into it where the session has a model of its own", () => {
    const [first, second] = models({ build: [fault("auth")] })
    return Effect.gen(function*() {
      const { id } = yield* root({ model: ref("first") })
      expect(yield* Effect.flip(Session.prompt(id, "Begin"))).toMatchObject({ reason: "auth" })
      expect(second.requests.length).toBe(0)
    }).pipe(Effect.provide(withModels(first, second, ["second", "first"])))
  })
})
