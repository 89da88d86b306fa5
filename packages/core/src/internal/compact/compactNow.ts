/** Compacts a conversation on request, while nothing else runs in it. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { CompactionFailed, stoppedBefore } from "../../SessionError.ts"
import type { Keyed } from "../../Write.ts"
import { makePrompt } from "../conversation/makePrompt.ts"
import { estimate, sizeOf } from "../conversation/requestSize.ts"
import { inProject } from "../live/inProject.ts"
import type { Live } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { startSideFiber } from "../live/startSideFiber.ts"
import { compact } from "./compact.ts"

const failedFor = ({ info: { id } }: Live, reason: CompactionFailed["reason"], why: string) =>
  new CompactionFailed({ id, reason, message: `The conversation of ${id} was not made shorter: ${why}` })

const work = Effect.fnUntraced(function*(live: Live, receipt: Keyed | undefined) {
  const table = yield* SessionTable
  if (live.running !== undefined) {
    return yield* failedFor(
      live,
      "at_work",
      "a turn is running, and compacts the conversation automatically if needed. Try again when it is idle."
    )
  }
  const messages = yield* table.history(live)
  const tokens = estimate(sizeOf(makePrompt("", messages, undefined, live.request.wholeFrom)), live.request.measured)
  const unavailable = (error: { readonly message: string }) =>
    failedFor(live, "unavailable", `${error.message} agent.compaction.model in skein.json says who summarises.`)
  const done = yield* compact(live, { auto: false, tokens, fixed: 0, tries: 0, receipt }).pipe(
    Effect.catchTags({
      AgentNotFound: unavailable,
      ModelUnavailable: unavailable,
      ModelError: (error) =>
        failedFor(live, "model", `${error.message} Try again, or let another model do it: agent.compaction.model.`)
    })
  )
  if (done === "nothing") return yield* failedFor(live, "nothing_to_do", "there is too little in it to summarise.")
  if (done === "no_gain") return yield* failedFor(live, "nothing_to_do", "its summary would be no shorter.")
  return done
})

/**
 * Ends when the summary is stored, and returns the published facts. Interruption closes the request; so does halting
 * the session.
 */
export const compactNow = (live: Live, receipt?: Keyed) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const fiber = yield* startSideFiber(live, inProject(live, work(live, receipt)))
      const exit = yield* Effect.onInterrupt(restore(Fiber.await(fiber)), () => Fiber.interrupt(fiber))
      if (Exit.isSuccess(exit)) return exit.value
      if (Cause.isInterruptedOnly(exit.cause)) return yield* stoppedBefore(live.info.id, "it was summarised")
      return yield* Effect.failCause(exit.cause)
    })
  )
