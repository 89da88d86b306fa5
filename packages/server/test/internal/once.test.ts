import { expect, it } from "@effect/vitest"
import { SessionStorage } from "@skein/core/SessionStorage"
import { interruptEverywhere } from "@skein/testing/Interruption"
import * as Effect from "effect/Effect"
import { once } from "../../src/internal/routes/once.ts"
import { Intake, ServerState } from "../../src/internal/ServerState.ts"

it.effect("a request with a key holds up none with the same key once it was interrupted, wherever that was", () =>
  Effect.gen(function*() {
    const storing = new Map()
    const state = { intake: new Intake(), storing } as unknown as typeof ServerState.Service
    const sent = once({ key: "key", content: "Go" }, () => Effect.void, () => Effect.void).pipe(
      Effect.provideService(ServerState, state),
      Effect.provide(yield* Effect.context<SessionStorage>())
    )
    const operations = yield* interruptEverywhere(
      sent,
      (n) => Effect.sync(() => expect([n, storing.size]).toEqual([n, 0]))
    )
    expect(operations).toBeGreaterThan(20)
  }).pipe(Effect.provide(SessionStorage.layerMemory)))
