import { describe, expect, it } from "@effect/vitest"
import { Config, settle } from "@skein/core/Config"
import { Provider } from "@skein/core/Provider"
import { Session, type SessionOptions } from "@skein/core/Session"
import { fault, make, tasks, text } from "@skein/testing/ScriptedProvider"
import { agent, layer } from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
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

describe("a model that a person names for the tree", () => {
  const delegating = () =>
    [
      make({
        build: [tasks({ helper: "Help" }), text("Done.")],
        helper: [text("By the first.")]
      }, {
        modelID: "first"
      }),
      make({ helper: [text("By the second.")], title: [text("T")] }, { modelID: "second" })
    ] as const
  const tree = (
    [first, second]: ReturnType<typeof delegating>,
    projectKeys: ReadonlyArray<string>,
    named: { readonly small_model?: string } = {}
  ) =>
    layer({ ...first, layer: Provider.layerModels([first.model, second.model]) }, {
      agents: [agent("helper", { model: [ref("second")] })],
      rules: "allow",
      titles: true,
      config: Layer.succeed(Config, { settings: settle(named), origins: {}, projectKeys: new Set(projectKeys) })
    })
  const answered = (projectKeys: ReadonlyArray<string>, options: Partial<SessionOptions>, isTitled = true) => {
    const made = delegating()
    return Effect.gen(function*() {
      const { id } = yield* isTitled
        ? root(options)
        : Session.create({ directory: "/work", agent: "build", ...options })
      yield* Session.prompt(id, "Begin")
      yield* TestClock.adjust("1 hour")
      return [made[0].requests.length, made[1].requests.length]
    }).pipe(Effect.provide(tree(made, projectKeys, { small_model: "scripted/second" })))
  }

  it.effect("answers subagents too, where only the project's files name another", () =>
    Effect.gen(function*() {
      const keys = ["agent.helper.model"]
      expect(yield* answered(keys, { model: ref("first") })).toEqual([3, 0])
      expect(yield* answered(keys, {})).toEqual([2, 1])
    }))

  it.effect("writes titles too, where only the project's files name a small one", () =>
    Effect.gen(function*() {
      const options = { model: ref("first") }
      expect(yield* answered(["agent.helper.model", "small_model"], options, false)).toEqual([4, 0])
      expect(yield* answered(["agent.helper.model"], options, false)).toEqual([3, 1])
    }))

  it.effect("gives way to what the user's own config names for an agent", () =>
    Effect.map(answered([], { model: ref("first") }), (counts) => expect(counts).toEqual([2, 1])))
})
