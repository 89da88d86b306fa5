/** The tests that every implementation of Provider must pass. */
import { describe, expect, it } from "@effect/vitest"
import { type LanguageModel, type ModelEvent, type ModelRequest, Provider } from "@skein/core/Provider"
import { SessionID } from "@skein/domain/Id"
import { formatRef } from "@skein/domain/Model"
import { Tokens } from "@skein/domain/Usage"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { none as noFiber } from "effect/FiberId"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/** The access to models, whose default model answers a plain question with some text. */
export interface ProviderBackend<E = never> {
  readonly name: string
  readonly layer: Layer.Layer<Provider, E>
}

const id = SessionID.make("ses_0000000000000000000000")

const question: ModelRequest = {
  messages: [
    { role: "system", content: "Answer briefly." },
    { role: "user", content: [{ type: "text", text: "What is in this directory?" }] }
  ],
  tools: [],
  toolChoice: "auto",
  origin: { sessionID: id, rootID: id, path: ["build"], step: 0, directory: "/work", purpose: "turn" }
}

const defaultModel = Effect.gen(function*() {
  const provider = yield* Provider
  return yield* provider.resolve(yield* provider.defaultModel)
})

/** Asks a model; marks events that come after the end. */
const ask = Effect.fnUntraced(function*(model: LanguageModel, request = question) {
  const events: Array<ModelEvent> = []
  const late: Array<ModelEvent> = []
  let over = false
  yield* model.stream(request, (event) => (over ? late : events).push(event)).pipe(
    Effect.ensuring(Effect.sync(() => {
      over = true
    }))
  )
  return { events, late }
})

/** What is wrong with the order of these events: each piece of text must be between its start and its end. */
const disorder = (events: ReadonlyArray<ModelEvent>): string | undefined => {
  const open = new Set<string>()
  for (const event of events) {
    const [kind = "", moment] = event.type.split(/-(?=start|delta|end)/)
    if (kind !== "text" && kind !== "reasoning") continue
    const key = `${kind} ${"id" in event ? event.id : ""}`
    if (moment === "start" ? open.has(key) : !open.has(key)) return `${event.type} of ${key}`
    if (moment === "start") open.add(key)
    if (moment === "end") open.delete(key)
  }
  return open.size === 0 ? undefined : `no end of ${[...open].join(", ")}`
}

const textOf = (events: ReadonlyArray<ModelEvent>): string =>
  events.flatMap((event) => event.type === "text-delta" ? [event.delta] : []).join("")

/** Registers the tests of a provider with vitest. */
export const providerSuite = <E>({ layer, name }: ProviderBackend<E>): void => {
  describe(`Provider ${name}`, () => {
    it.live("has a default model, and a sorted list", () =>
      Effect.gen(function*() {
        const provider = yield* Provider
        const names = (yield* provider.list).map(formatRef)
        expect(names).toEqual(names.toSorted())
        const model = yield* defaultModel
        expect(formatRef(model.info)).toBe(formatRef(yield* provider.defaultModel))
        expect(model.limitKey).not.toBe("")
      }).pipe(Effect.provide(layer)))

    it.live("refuses an unknown provider, and names it", () =>
      Effect.gen(function*() {
        const provider = yield* Provider
        const error = yield* Effect.flip(provider.resolve({ providerID: "no-such-provider", modelID: "m" }))
        expect(error._tag).toBe("ModelUnavailable")
        expect(error.message).toContain("no-such-provider")
      }).pipe(Effect.provide(layer)))

    it.live("emits events in order: connected first, finish last, text between its start and its end", () =>
      Effect.gen(function*() {
        const { events } = yield* ask(yield* defaultModel)
        expect(events.map((event) => event.type).indexOf("connected")).toBe(0)
        expect(events.filter((event) => event.type === "connected")).toHaveLength(1)
        expect(disorder(events)).toBeUndefined()
        expect(events.filter((event) => event.type === "finish")).toHaveLength(1)
        expect(events.at(-1)).toMatchObject({ type: "finish", finish: "stop" })
        expect(textOf(events).trim()).not.toBe("")
      }).pipe(Effect.provide(layer)))

    it.live("counts tokens, or reports that it cannot", () =>
      Effect.gen(function*() {
        const last = (yield* ask(yield* defaultModel)).events.at(-1)
        const tokens = last?.type === "finish" ? last.tokens : "no finish"
        if (tokens !== undefined) expect(Schema.is(Tokens)(tokens)).toBe(true)
      }).pipe(Effect.provide(layer)))

    it.live("answers several requests in parallel, without mixing them", () =>
      Effect.gen(function*() {
        const model = yield* defaultModel
        const all = yield* Effect.all([ask(model), ask(model), ask(model)], { concurrency: "unbounded" })
        for (const { events } of all) {
          expect(disorder(events)).toBeUndefined()
          expect(events.filter((event) => event.type === "finish")).toHaveLength(1)
        }
      }).pipe(Effect.provide(layer)))

    it.live("emits nothing more when its request is interrupted, and can be asked again", () =>
      Effect.gen(function*() {
        const model = yield* defaultModel
        const connected = Deferred.unsafeMake<void>(noFiber)
        let over = false
        let late = 0
        const fiber = yield* Effect.fork(model.stream(question, () => {
          if (over) late++
          Deferred.unsafeDone(connected, Effect.void)
        }))
        yield* Deferred.await(connected)
        yield* Fiber.interrupt(fiber)
        over = true
        const again = yield* ask(model)
        expect(late).toBe(0)
        expect(again.events.at(-1)?.type).toBe("finish")
        expect(again.late).toEqual([])
      }).pipe(Effect.provide(layer)))
  })
}
