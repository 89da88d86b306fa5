/** Proves that a client that is asked for files never holds up a call for long. */
import { expect, it } from "@effect/vitest"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import type { Client } from "../../src/internal/connection/Client.ts"
import { filesOf } from "../../src/internal/session/Sessions.ts"

const root = "ses_test" as SessionID

const world = (ask: () => Effect.Effect<unknown, { readonly message: string }>, given: Partial<Client> = {}) =>
  filesOf(
    { capabilities: { fs: { readTextFile: true, writeTextFile: true } }, isGone: () => false, ask, ...given } as never,
    root,
    "/project"
  )

it("is not asked unless it declares that it reads files", () => {
  expect(world(() => Effect.void, { capabilities: { fs: { writeTextFile: true } } })).toBe(undefined)
  expect(world(() => Effect.void, { capabilities: {} })).toBe(undefined)
  expect(world(() => Effect.void, { capabilities: { fs: { readTextFile: true } } })?.write).toBe(undefined)
})

it.effect("is waited for 5 seconds, then for a moment only until it answers again", () =>
  Effect.gen(function*() {
    let isHung = true
    const files = world(() => isHung ? Effect.never : Effect.succeed({ content: "text" }))
    const first = yield* Effect.fork(Effect.flip(files?.read("/project/a") ?? Effect.die("no files")))
    yield* TestClock.adjust("4999 millis")
    expect(yield* Fiber.poll(first)).toMatchObject({ _tag: "None" })
    yield* TestClock.adjust("1 millis")
    expect(yield* Fiber.join(first)).toMatchObject({
      reason: "silent",
      message: "The editor did not answer within 5s."
    })
    const second = yield* Effect.fork(Effect.flip(files?.read("/project/a") ?? Effect.die("no files")))
    yield* TestClock.adjust("250 millis")
    expect(yield* Fiber.join(second)).toMatchObject({ reason: "silent" })
    isHung = false
    expect(yield* files?.read("/project/a") ?? Effect.die("no files")).toBe("text")
    isHung = true
    const third = yield* Effect.fork(Effect.flip(files?.read("/project/a") ?? Effect.die("no files")))
    yield* TestClock.adjust("4999 millis")
    expect(yield* Fiber.poll(third)).toMatchObject({ _tag: "None" })
    yield* Fiber.interrupt(third)
  }))

it.effect("that fails, is gone, or answers without a text is told apart", () =>
  Effect.gen(function*() {
    const read = (files: ReturnType<typeof world>) => Effect.flip(files?.read("/project/a") ?? Effect.die("no files"))
    const broken = () => Effect.fail({ message: "no such file" })
    expect(yield* read(world(broken))).toMatchObject({
      reason: "refused",
      message: "The editor refused: no such file."
    })
    expect(yield* read(world(broken, { isGone: () => true }))).toMatchObject({ reason: "gone" })
    for (const answer of [{}, { content: 12 }, { content: null }, null, "text"]) {
      expect(yield* read(world(() => Effect.succeed(answer)))).toMatchObject({ reason: "refused" })
    }
  }))
