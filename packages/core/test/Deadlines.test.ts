import { describe, expect, it } from "@effect/vitest"
import { type LanguageModel, ModelError, type ModelEvent, Provider } from "@skein/core/Provider"
import { Session } from "@skein/core/Session"
import { noTokens } from "@skein/domain/Usage"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { root } from "./support/tree.ts"

const info = { providerID: "test", modelID: "m", context: 100_000, output: 10_000 }

/** A prompt to a model with this stream: its result, and the time until then. */
const prompted = (
  stream: LanguageModel["stream"],
  firstEvent?: number,
  attempts = 1,
  deadlines = { connect: 1_000, first_event: 3_000, idle: 5_000 }
) =>
  Effect.gen(function*() {
    const layer = Provider.layerModels([{ info, limitKey: "test", firstEvent, stream }])
    const timed = Effect.gen(function*() {
      const began = yield* Clock.currentTimeMillis
      const { id } = yield* root()
      const exit = yield* Effect.either(Session.prompt(id, "Go"))
      return { exit, after: (yield* Clock.currentTimeMillis) - began }
    })
    const config = { deadlines, retry: { attempts } }
    const fiber = yield* Effect.fork(Effect.provide(timed, SkeinTest.layer({ layer }, { config })))
    yield* TestClock.adjust("30 minutes")
    return yield* Fiber.join(fiber)
  })

const every = (milliseconds: number, emit: Effect.Effect<void>) => Effect.forever(Effect.delay(emit, milliseconds))

const empty: ReadonlyArray<ModelEvent> = [
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: "" },
  { type: "text-end", id: "t" },
  { type: "reasoning-start", id: "r" },
  { type: "reasoning-end", id: "r" }
]

describe("the deadlines of a stream", () => {
  it.effect.each(empty)("do not count %j before the first word as progress", (event) =>
    Effect.gen(function*() {
      const { after, exit } = yield* prompted((_, emit) => {
        emit({ type: "connected" })
        return every(300, Effect.sync(() => emit(event)))
      })
      expect(exit).toMatchObject({
        left: { reason: "timeout", message: expect.stringContaining("deadlines.first_event") }
      })
      expect(after).toBe(3_000)
    }))

  it.effect.each(empty)("do not count %j after a word as progress", (event) =>
    Effect.gen(function*() {
      const { after, exit } = yield* prompted((_, emit) => {
        emit({ type: "connected" })
        emit({ type: "text-delta", id: "a", delta: "looking" })
        return every(300, Effect.sync(() => emit(event)))
      })
      expect(exit).toMatchObject({ left: { reason: "timeout", message: expect.stringContaining("deadlines.idle") } })
      expect(after).toBe(5_000)
    }))

  it.effect("fire in time if one is shorter than the one before", () =>
    Effect.gen(function*() {
      const deadlines = { connect: 30_000, first_event: 20_000, idle: 3_000 }
      const { after, exit } = yield* prompted(
        (_, emit) => {
          const word = Effect.sync(() => emit({ type: "text-delta", id: "a", delta: "looking" }))
          return Effect.delay(Effect.sync(() => emit({ type: "connected" })), 500).pipe(
            Effect.zipRight(Effect.delay(word, 500)),
            Effect.zipRight(Effect.never)
          )
        },
        undefined,
        1,
        deadlines
      )
      expect(exit).toMatchObject({ left: { message: expect.stringContaining("deadlines.idle") } })
      expect(after).toBe(4_000)
    }))

  it.effect("count text, reasoning and call arguments as progress", () =>
    Effect.gen(function*() {
      const life: ReadonlyArray<ModelEvent> = [
        { type: "reasoning-delta", id: "r", delta: "hm" },
        { type: "text-delta", id: "t", delta: "yes" },
        { type: "activity" },
        { type: "finish", finish: "stop", tokens: noTokens }
      ]
      const { exit } = yield* prompted((_, emit) => {
        emit({ type: "connected" })
        return Effect.forEach(life, (event) => Effect.delay(Effect.sync(() => emit(event)), 2_900), { discard: true })
      })
      expect(exit).toMatchObject({ right: { text: "yes" } })
    }))

  it.effect("give a slow model the time that its definition asks for", () =>
    Effect.gen(function*() {
      const silent: LanguageModel["stream"] = (_, emit) => {
        emit({ type: "connected" })
        return Effect.never
      }
      expect((yield* prompted(silent, 600_000)).after).toBe(600_000)
      const unconnected: LanguageModel["stream"] = () => Effect.never
      const { after, exit } = yield* prompted(unconnected, 600_000)
      expect(exit).toMatchObject({ left: { message: expect.stringContaining("deadlines.connect") } })
      expect(after).toBe(1_000)
    }))

  it.effect.each([[1, 0], [2, 1], [9, 4]])(
    "a failure with a limit of %i tries is tried %i times",
    ([tries, again]) =>
      Effect.gen(function*() {
        let asked = 0
        const failure = new ModelError({ reason: "network", retryable: true, message: "refused", tries })
        yield* prompted(
          () =>
            Effect.suspend(() => {
              asked++
              return failure
            }),
          undefined,
          5
        )
        expect(asked - 1).toBe(again)
      })
  )

  it.effect("counts such failures in a row: earlier ones of other kinds do not use up tries", () =>
    Effect.gen(function*() {
      const few = { reason: "network", retryable: true, message: "refused", tries: 2 } as const
      const often = { reason: "server", retryable: true, message: "broken" } as const
      const failures = [few, often, often, few, often, few].map((each) => new ModelError(each))
      let asked = 0
      const { exit } = yield* prompted(
        () =>
          Effect.suspend(() => failures[asked++] ?? new ModelError({ ...few, retryable: false, message: "the end" })),
        undefined,
        20
      )
      expect(exit).toMatchObject({ left: { message: "the end" } })
      expect(asked).toBe(7)
    }))
})
