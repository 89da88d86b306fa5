import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { makeStay } from "../../src/internal/entries.ts"

it.effect("an entry that is stored late does not write over where the server listens since", () =>
  Effect.gen(function*() {
    let stored = ""
    const late = yield* Effect.makeLatch()
    const { listens, stay } = makeStay((at) =>
      Effect.zipRight(at.endsWith(":0") ? late.await : Effect.void, Effect.sync(() => void (stored = at)))
    )
    const before = yield* Effect.fork(stay)
    yield* Effect.yieldNow()
    const after = yield* Effect.fork(listens("http://127.0.0.1:4096"))
    yield* Effect.yieldNow()
    yield* late.open
    yield* Fiber.join(Fiber.zip(before, after))
    expect(stored).toBe("http://127.0.0.1:4096")
  }))
