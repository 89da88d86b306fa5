import { describe, expect, it } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import { record } from "@skein/testing/RecordedEvents"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"

const layer = SkeinTest.layer({ build: [{ text: "done", delay: { first: 1_000 } }] })

describe("recorded events", () => {
  it.scoped("start at the subscription, and match the filter", () =>
    Effect.gen(function*() {
      const before = yield* Session.create({ directory: "/work" })
      const [all, one] = yield* Effect.all([record(), record({ sessionID: before.id })])
      const other = yield* Session.create({ directory: "/work" })
      expect(all.all.map((event) => [event.type, event.sessionID])).toEqual([["session.created", other.id]])
      expect(one.all).toEqual([])
      expect(all.of("session.created")[0]?.properties.info).toEqual(other)
      expect(all.of("session.deleted")).toEqual([])
    }).pipe(Effect.provide(layer)))

  it.scoped("can be awaited, even if they were already published", () =>
    Effect.gen(function*() {
      const events = yield* record()
      const { id } = yield* Session.create({ directory: "/work", title: "t" })
      const idle = yield* Effect.fork(events.first("session.idle"))
      const never = yield* Effect.fork(events.first("session.idle", (event) => event.sessionID !== id))
      const turn = yield* Effect.fork(Session.prompt(id, "Go"))
      yield* TestClock.adjust(999)
      expect(yield* Fiber.poll(idle)).toMatchObject({ _tag: "None" })
      yield* TestClock.adjust(1)
      expect((yield* Fiber.join(idle)).sessionID).toBe(id)
      expect(yield* events.first("session.idle")).toBe(yield* Fiber.join(idle))
      expect(yield* Fiber.poll(never)).toMatchObject({ _tag: "None" })
      yield* Fiber.interrupt(never)
      yield* Fiber.join(turn)
    }).pipe(Effect.provide(layer)))

  it.effect("end with their scope", () =>
    Effect.gen(function*() {
      const events = yield* Effect.scoped(record())
      yield* Session.create({ directory: "/work" })
      expect(events.all).toEqual([])
    }).pipe(Effect.provide(layer)))
})
