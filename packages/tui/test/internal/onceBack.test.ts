/** Proves that what was promised to a person whose server is away is sent once it is back, and said once. */
import { expect, it } from "@effect/vitest"
import type { BackendError } from "@skein/backend/BackendError"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { onceBack } from "../../src/internal/session/perform.ts"
import { Seat } from "../support/seat.ts"

const failed = (tag: "ServerGone" | "PromptInvalid"): BackendError => ({ _tag: tag, message: "It failed." })

const promised = "Is sent once the server is back: and then"

it.effect("sends a prompt once the server is back, and says so once", () =>
  Effect.gen(function*() {
    const seat = new Seat(true, { isAway: false, server: "http://127.0.0.1:1" })
    let tries = 0
    const sending = Effect.suspend(() => ++tries < 4 ? Effect.fail(failed("ServerGone")) : Effect.succeed("stored"))
    const fiber = yield* Effect.fork(onceBack(sending, "and then", { model: seat.model, touch: () => undefined }))
    yield* TestClock.adjust("3 seconds")
    expect(yield* Fiber.join(fiber)).toBe("stored")
    expect(tries).toBe(4)
    expect((yield* Effect.promise(() => seat.lines())).join("\n").split(promised)).toHaveLength(2)
  }))

it.effect("promises nothing for a prompt that the server refuses", () =>
  Effect.gen(function*() {
    const seat = new Seat(true, { server: "http://127.0.0.1:1" })
    const refused = Effect.fail(failed("PromptInvalid"))
    const sent = yield* Effect.either(onceBack(refused, "and then", { model: seat.model, touch: () => undefined }))
    expect(sent).toMatchObject({ left: { _tag: "PromptInvalid" } })
    expect((yield* Effect.promise(() => seat.lines())).join("\n")).not.toContain(promised)
  }))
