/** The ways to compose agents in the core's README work as described. */
import { expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import * as Skein from "@skein/core/Skein"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { uses } from "./readmes/below.ts"
import { agreed, fix, quickest, review } from "./readmes/compose.ts"

const provide = (script: Scripted.Scripted) => Effect.provide(Skein.layer({ provider: script.layer }))
const answer = (value: unknown) => Scripted.call("final_answer", { answer: value })

/** Steps for any session in order of the requests: each task has its own session. */
const inTurn = (...steps: ReadonlyArray<Scripted.ScriptedStep>) => {
  let at = 0
  return () => steps[at++] ?? { text: "there is no step left" }
}

it.effect("map and reduce", () => {
  const script = Scripted.make({
    explore: (request) => ({
      ...answer({ file: Scripted.lastText(request).slice(7, -1), problems: ["long"] }),
      delay: { first: 1_000 }
    }),
    general: (request) => ({ text: Scripted.lastText(request).replace(/^.*: /, "") })
  })
  return Effect.gen(function*() {
    const files = Array.from({ length: 9 }, (_, i) => `${i}.ts`)
    const fiber = yield* Effect.fork(review(files))
    yield* TestClock.adjust("1 minute")
    expect(JSON.parse(yield* Fiber.join(fiber))).toEqual(files.map((file) => ({ file, problems: ["long"] })))
    expect(script.open.most).toBe(4)
  }).pipe(provide(script))
})

it.effect("the first of several", () => {
  const script = Scripted.make({ explore: inTurn({ text: "slow", hangs: true }, { text: "quick" }) })
  const model = { providerID: "scripted", modelID: "model" }
  return Effect.gen(function*() {
    const fiber = yield* Effect.fork(quickest([model, model]))
    yield* TestClock.adjust("1 second")
    expect(yield* Fiber.join(fiber)).toBe("quick")
    expect(script.open.now).toBe(0)
  }).pipe(provide(script))
})

it.effect("a quorum", () =>
  Effect.gen(function*() {
    expect(yield* agreed("Is it?")).toBe(true)
  }).pipe(provide(Scripted.make({ explore: inTurn(answer(true), answer(false), answer(true)) }))))

it.effect("a pipeline", () =>
  Effect.gen(function*() {
    expect(yield* fix("it hangs")).toBe("fixed")
  }).pipe(
    provide(
      Scripted.make({ explore: ["a loop"], build: inTurn(Scripted.fault("invalid_request"), { text: "fixed" }) })
    )
  ))

it.effect("a tool that asks below its caller", () => {
  const script = Scripted.make({
    build: (request) => {
      const last = request.messages.at(-1)
      return last?.role === "tool" ? JSON.stringify(last.content) : Scripted.call("uses", { name: "narrow" })
    },
    explore: (request) => answer([Scripted.lastText(request).includes("test") ? "a.test.ts" : "a.ts"])
  })
  return Effect.gen(function*() {
    const { id } = yield* Session.create({ directory: "/work", agent: "build", title: "Test" })
    const { text } = yield* Session.prompt(id, "Who uses it?")
    expect(JSON.parse(text)[0].output.value).toBe("{\"calls\":[\"a.ts\"],\"tests\":[\"a.test.ts\"]}")
    expect(yield* Effect.flatMap(Session, (session) => session.children(id))).toHaveLength(2)
  }).pipe(
    Effect.provide(
      Layer.provideMerge(
        uses,
        Skein.layer({ provider: script.layer, config: { permission: { uses: "allow" }, limits: { concurrency: 1 } } })
      )
    )
  )
})
