/** Waits with a client for the end of a run: tells it how far that is, and asks it what the run asks. */
import { type CallToolResult, inputRequired, type InputRequiredResult } from "@modelcontextprotocol/server"
import type { Permission } from "@skein/core/Permission"
import type { Question } from "@skein/core/Question"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { answer, formOf } from "./asks.ts"
import type { Call } from "./Call.ts"
import type { Ask, Delegation, Ended } from "./Delegation.ts"

/** A person may take a day, as for every question. */
const patience = 24 * 60 * 60_000

/** A text as the result of a call. */
export const textResult = (text: string, isError = false): CallToolResult => ({
  content: [{ type: "text", text }],
  ...(isError ? { isError } : {})
})

/** The end of a run as the result of a call. */
export const resultOf = (end: Ended): CallToolResult =>
  end.how === "settled" ? textResult(end.text, end.isError) : textResult("The task was cancelled.", true)

/** Reports the progress of the run at each change, and now and then that it still runs, until the scope closes. */
const tellProgress = Effect.fnUntraced(function*(run: Delegation, progress: (message: string) => void) {
  yield* run.watch(progress)
  progress(run.doing())
  yield* Effect.forkScoped(
    Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      progress(`${run.doing()} (${Math.round((now - run.created) / 1_000)} s)`)
    }).pipe(Effect.delay("15 seconds"), Effect.repeat(Schedule.forever))
  )
})

/** Asks the client, as those of 2025 are asked: by a request of the server. What goes wrong there permits nothing. */
const askOne = (call: Call, ask: Ask) =>
  Effect.tryPromise((signal) => call.context.mcpReq.elicitInput(formOf(ask), { signal, timeout: patience })).pipe(
    Effect.tapError(({ error }) => Effect.logWarning("A client could not be asked", String(error))),
    Effect.orElseSucceed(() => undefined),
    // The answer itself withdraws the question: that must not cut it off.
    Effect.flatMap((result) => Effect.uninterruptible(answer(ask, result)))
  )

/** Asks all that the run asks, until its end. A question that somebody else answers is withdrawn. */
const askAll = (run: Delegation, call: Call): Effect.Effect<never, never, Permission | Question> =>
  Effect.scoped(Effect.gen(function*() {
    const asking = new Set<string>()
    return yield* Effect.forever(Effect.gen(function*() {
      yield* run.until((asks) => [...asks.keys()].some((id) => !asking.has(id)))
      for (const ask of run.asks.values()) {
        if (asking.has(ask.id)) continue
        asking.add(ask.id)
        yield* Effect.forkScoped(Effect.raceFirst(askOne(call, ask), run.until((asks) => !asks.has(ask.id))))
      }
    }))
  }))

/** All that the run asks, as the result of a call of 2026-07-28: its client sends the call again, with the answers. */
const asksOf = (run: Delegation): InputRequiredResult =>
  inputRequired({
    inputRequests: Object.fromEntries(
      [...run.asks.values()].map((ask) => [ask.id, inputRequired.elicit(formOf(ask))])
    ),
    requestState: run.id
  })

/** Waits for the end of a run, or until its client has to be asked. */
export const attend = (
  run: Delegation,
  call: Call
): Effect.Effect<CallToolResult | InputRequiredResult, never, Permission | Question> =>
  Effect.scoped(Effect.gen(function*() {
    yield* run.attend
    if (call.progress !== undefined) yield* tellProgress(run, call.progress)
    const end = Effect.map(Deferred.await(run.ended), resultOf)
    return yield* call.isModern
      ? Effect.raceFirst(end, Effect.map(run.until(({ size }) => size > 0), () => asksOf(run)))
      : Effect.raceFirst(end, askAll(run, call))
  }))

/** Answers what the client was asked, where it sends a call again. */
export const answerAll = (run: Delegation, responses: Readonly<Record<string, unknown>>) =>
  Effect.forEach(
    [...run.asks.values()].filter(({ id }) => Object.hasOwn(responses, id)),
    (ask) => answer(ask, responses[ask.id]),
    { discard: true }
  )
