/** Proves how a turn ends that is stopped while nobody answers. */
import { Backend } from "@skein/backend/Backend"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import { expect, it } from "vitest"
import type { Unfinished } from "../../src/internal/run/result.ts"
import { runTurn } from "../../src/internal/run/turn.ts"

/** A server that is away: what is asked of it waits. */
const away = { stop: () => Effect.never, get: () => Effect.never, messages: () => Effect.never }

it("a run that is stopped while its server is away ends in time, and does not call the stop confirmed", () =>
  Effect.runPromise(
    Effect.scoped(Effect.gen(function*() {
      const known: Array<Unfinished & { readonly isStopConfirmed: boolean }> = []
      const began = yield* Effect.makeLatch()
      const fiber = yield* Effect.fork(runTurn({
        session: { id: "ses_1", rootID: "ses_1", usage: { subtree: {} } } as unknown as SessionInfo,
        work: Effect.zipRight(began.open, Effect.never),
        timeout: undefined,
        late: () => undefined,
        stoppedBy: () => "the user",
        left: (unfinished, isStopConfirmed) => known.push({ ...unfinished, isStopConfirmed })
      }))
      yield* began.await
      const ended = yield* Effect.fork(Fiber.interrupt(fiber))
      // The program ends 6 s after the signal, whatever it does.
      yield* TestClock.adjust("5 seconds")
      yield* TestClock.adjust("900 millis")
      yield* Fiber.join(ended)
      expect(known).toMatchObject([{ sessionID: "ses_1", text: "", isStopConfirmed: false }])
    })).pipe(
      Effect.provideService(Backend, { sessions: away } as unknown as typeof Backend.Service),
      Effect.provide(TestContext.TestContext)
    )
  ))
