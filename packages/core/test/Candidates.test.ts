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
  it.effect("uses none of them if the session has its own model", () => {
    const [first, second] = models({ build: [fault("auth")] })
    return Effect.gen(function*() {
      const { id } = yield* root({ model: ref("first") })
      expect(yield* Effect.flip(Session.prompt(id, "Begin"))).toMatchObject({ reason: "auth" })
      expect(second.requests.length).toBe(0)
    }).pipe(Effect.provide(withModels(first, second, ["second", "first"])))
  })
})
