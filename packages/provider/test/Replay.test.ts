import * as FileSystem from "@effect/platform/FileSystem"
import { describe, expect, it } from "@effect/vitest"
import { type LanguageModel, ModelError, type ModelEvent, type ModelRequest, Provider } from "@skein/core/Provider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Replay from "../src/Replay.ts"
import { ask, request, textOf } from "./support/Server.ts"

const info = { providerID: "p", modelID: "m", limit: { context: 100, output: 10 } }

const user = (text: string): ModelRequest["messages"] => [{ role: "user", content: [{ type: "text", text }] }]

const from = (path: ReadonlyArray<string>, step: number, text = "hello"): Partial<ModelRequest> => ({
  messages: user(text),
  origin: { ...request().origin, path, step }
})

/** Repeats its prompt, after a second; fails on request. */
const echo: LanguageModel = {
  info,
  limitKey: "p/m",
  stream: ({ messages }, emit) =>
    Effect.gen(function*() {
      const text = JSON.stringify(messages)
      emit({ type: "connected" })
      yield* Effect.sleep("1 second")
      if (text.includes("fail")) {
        return yield* new ModelError({ reason: "rate_limit", retryable: true, message: "slow", retryAfter: 5 })
      }
      const events: ReadonlyArray<ModelEvent> = [
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: text },
        { type: "text-end", id: "t" },
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-end", id: "r", metadata: { openai: { itemId: "i" } } },
        { type: "tool-call", id: "c", name: "bash", input: "{}" },
        { type: "finish", finish: "tool-calls", tokens: undefined }
      ]
      for (const event of events) emit(event)
    })
}

/** A disk of one test. */
const disk = () => {
  const files = new Map<string, string>()
  return {
    files,
    layer: FileSystem.layerNoop({
      readFileString: (path) => Effect.succeed(files.get(path) ?? ""),
      writeFileString: (path, text) => Effect.sync(() => void files.set(path, text)),
      rename: (old, name) =>
        Effect.sync(() => {
          files.set(name, files.get(old) ?? "")
          files.delete(old)
        })
    })
  }
}

const model = Effect.flatMap(Provider, (provider) => provider.resolve(info))

const quick = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.fork(effect)
    yield* TestClock.adjust("1 minute")
    return yield* Fiber.join(fiber)
  })

const recorded = (requests: ReadonlyArray<Partial<ModelRequest>>, { layer }: ReturnType<typeof disk>) =>
  Effect.gen(function*() {
    const recorder = yield* model
    return yield* Effect.forEach(requests, (one) => quick(ask(recorder, one)))
  }).pipe(Effect.provide(Replay.record(Provider.layerModels([echo]), "tape.json")), Effect.provide(layer))

const replaying = ({ layer }: ReturnType<typeof disk>, options: Replay.ReplayOptions = {}) =>
  Effect.provide(Layer.provide(Replay.layer("tape.json", options), layer))

describe("Replay", () => {
  it.effect("plays back events and failures at once", () =>
    Effect.gen(function*() {
      const tape = disk()
      const requests = [from(["build"], 0), from(["build"], 1, "fail"), from(["build"], 1)]
      const first = yield* recorded(requests, tape)
      const again = yield* Effect.gen(function*() {
        const player = yield* model
        expect(player.info).toEqual(info)
        return yield* Effect.forEach(requests, (one) => ask(player, one))
      }).pipe(replaying(tape))
      expect(again).toEqual(first)
      expect(again[1]?.error).toMatchObject({ reason: "rate_limit", retryable: true, retryAfter: 5 })
      expect([...tape.files.keys()]).toEqual(["tape.json"])
    }))

  it.effect("replays the recorded timing on request", () =>
    Effect.gen(function*() {
      const tape = disk()
      yield* recorded([from(["build"], 0)], tape)
      yield* Effect.gen(function*() {
        const events: Array<string> = []
        const player = yield* model
        const fiber = yield* Effect.fork(player.stream(request(from(["build"], 0)), ({ type }) => events.push(type)))
        yield* TestClock.adjust("999 millis")
        expect(events).toEqual(["connected"])
        yield* TestClock.adjust("1 millis")
        yield* Fiber.join(fiber)
        expect(events.at(-1)).toBe("finish")
      }).pipe(replaying(tape, { pace: "recorded" }))
    }))

  it.effect("tells agents with the same path and step apart by their prompt, in any order", () =>
    Effect.gen(function*() {
      const tape = disk()
      const path = ["build", "explore"]
      yield* recorded([from(path, 0, "one"), from(path, 0, "two"), from(path, 0, "three")], tape)
      yield* Effect.gen(function*() {
        const player = yield* model
        for (const text of ["three", "one", "two"]) {
          expect(textOf(yield* ask(player, from(path, 0, text)))).toContain(text)
        }
      }).pipe(replaying(tape))
    }))

  it.effect("takes the first unused recording if the prompt has changed", () =>
    Effect.gen(function*() {
      const tape = disk()
      yield* recorded([from(["build"], 0, "one")], tape)
      yield* Effect.gen(function*() {
        expect(textOf(yield* ask(yield* model, from(["build"], 0, "other words")))).toContain("one")
      }).pipe(replaying(tape))
    }))

  it.effect("fails permanently on an unrecorded request, and names it", () =>
    Effect.gen(function*() {
      const tape = disk()
      yield* recorded([from(["build"], 0)], tape)
      yield* Effect.gen(function*() {
        const player = yield* model
        const { error } = yield* ask(player, from(["build", "explore"], 3))
        expect(error).toMatchObject({ reason: "bad_response", retryable: false })
        expect(error?.message).toContain("build>explore#3")
        expect(error?.message).toContain("It has build#0")
        yield* ask(player, from(["build"], 0))
        const used = yield* ask(player, from(["build"], 0))
        expect(used.error?.message).toContain("all were played")
      }).pipe(replaying(tape))
    }))

  it.effect("keeps titles apart from turns", () =>
    Effect.gen(function*() {
      const tape = disk()
      const title = { origin: { ...request().origin, purpose: "title" as const } }
      yield* recorded([title], tape)
      yield* Effect.gen(function*() {
        const player = yield* model
        expect((yield* ask(player)).error?.message).toContain("build#0 (title)")
        expect((yield* ask(player, title)).error).toBeUndefined()
      }).pipe(replaying(tape))
    }))

  it.effect("leaves interrupted requests out of the cassette", () =>
    Effect.gen(function*() {
      const tape = disk()
      yield* Effect.gen(function*() {
        const recorder = yield* model
        const fiber = yield* Effect.fork(ask(recorder))
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(fiber)
        yield* quick(ask(recorder, from(["build"], 1)))
      }).pipe(Effect.provide(Replay.record(Provider.layerModels([echo]), "tape.json")), Effect.provide(tape.layer))
      expect(JSON.parse(tape.files.get("tape.json") ?? "").takes.map(({ key }: { key: string }) => key)).toEqual([
        "build#1"
      ])
    }))

  it.effect("refuses unrecorded models, and invalid cassettes", () =>
    Effect.gen(function*() {
      const tape = disk()
      yield* recorded([from(["build"], 0)], tape)
      yield* Effect.gen(function*() {
        const provider = yield* Provider
        const error = yield* Effect.flip(provider.resolve({ providerID: "p", modelID: "other" }))
        expect(error).toMatchObject({ reason: "unknown_model" })
        expect(error.message).toContain("p/m")
        expect(yield* provider.defaultModel).toEqual({ providerID: "p", modelID: "m" })
      }).pipe(replaying(tape))
      tape.files.set("tape.json", "{}")
      const error = yield* Effect.either(model.pipe(replaying(tape)))
      expect(Either.isLeft(error) && error.left._tag).toBe("CassetteError")
    }))
})
