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
  /** The same, whose default model answers with two calls of `read`, for the files `a.txt` and `b.txt`. */
  readonly calls?: Layer.Layer<Provider, E>
  /** The same with a server that asks to slow down, and to come back in two seconds. */
  readonly busy?: Layer.Layer<Provider, E>
  /** The same with a connection that is lost in the middle of an answer, when a call has begun or is complete. */
  readonly cut?: Layer.Layer<Provider, E>
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

/** A conversation with all that a provider may find in one: parallel calls, a failed one, and thoughts of another model. */
const conversation: ModelRequest = {
  ...question,
  tools: [{
    name: "read",
    description: "Reads a file.",
    inputSchema: { type: "object", properties: { filePath: { type: "string" } }, required: ["filePath"] }
  }],
  messages: [
    ...question.messages,
    {
      role: "assistant",
      model: { providerID: "another", modelID: "model" },
      content: [
        { type: "reasoning", text: "I look.", providerOptions: { another: { signature: "S" } } },
        { type: "text", text: "Looking." },
        { type: "tool-call", toolCallId: "one", toolName: "read", input: { filePath: "a.txt" } },
        { type: "tool-call", toolCallId: "two", toolName: "read", input: { invalid: "{\"filePath\":" } }
      ]
    },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "one", toolName: "read", output: { type: "text", value: "(no output)" } },
        { type: "tool-result", toolCallId: "two", toolName: "read", output: { type: "error-text", value: "not JSON" } }
      ]
    },
    { role: "user", content: [{ type: "text", text: "And now?" }, { type: "text", text: "Say more." }] }
  ]
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

/** The tests that need a model or a server of a certain kind. */
const specialTests = <E>({ busy, calls, cut }: ProviderBackend<E>): void => {
  if (calls !== undefined) {
    it.live("emits parallel calls in order, whole, and after them only the finish that says so", () =>
      Effect.gen(function*() {
        const { events } = yield* ask(yield* defaultModel, conversation)
        const made = events.flatMap((event) => event.type === "tool-call" ? [event] : [])
        expect(made.map((call) => [call.name, JSON.parse(call.input)])).toEqual([
          ["read", { filePath: "a.txt" }],
          ["read", { filePath: "b.txt" }]
        ])
        expect(new Set(made.map((call) => call.id)).size).toBe(2)
        expect(events.at(-1)).toMatchObject({ type: "finish", finish: "tool-calls" })
      }).pipe(Effect.provide(calls)))
  }
  if (busy !== undefined) {
    it.live("tells that a server is busy, and for how long", () =>
      Effect.gen(function*() {
        const model = yield* defaultModel
        const error = yield* Effect.flip(ask(model))
        expect(error).toMatchObject({ _tag: "ModelError", reason: "rate_limit", retryable: true, retryAfter: 2_000 })
        expect(error.message).toContain(formatRef(model.info))
      }).pipe(Effect.provide(busy)))
  }
  if (cut !== undefined) {
    it.live("emits no call and no finish of an answer that is cut off, which may be tried again", () =>
      Effect.gen(function*() {
        const types: Array<string> = []
        const error = yield* Effect.flip((yield* defaultModel).stream(conversation, ({ type }) => types.push(type)))
        expect(error.retryable).toBe(true)
        expect(types.filter((type) => type === "tool-call" || type === "finish")).toEqual([])
      }).pipe(Effect.provide(cut)))
  }
}

/** Registers the tests of a provider with vitest. */
export const providerSuite = <E>(backend: ProviderBackend<E>): void => {
  const { layer, name } = backend
  describe(`Provider ${name}`, () => {
    specialTests(backend)

    it.live("accepts a conversation with calls, failed ones too, and with what another model thought", () =>
      Effect.gen(function*() {
        const { events } = yield* ask(yield* defaultModel, conversation)
        expect(events.at(-1)?.type).toBe("finish")
      }).pipe(Effect.provide(layer)))

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
