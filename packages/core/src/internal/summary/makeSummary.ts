/** Asks a model for the summary and for the title of a session. */
import type { SessionSummary } from "@skein/domain/SessionInfo"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { Config } from "../../Config.ts"
import { Journal } from "../../Journal.ts"
import { stoppedBefore, SummaryFailed } from "../../Turn.ts"
import type { Entry, Keyed } from "../../Write.ts"
import { type Live, startSideFiber } from "../live/Live.ts"
import { inProject } from "../live/SessionTable.ts"
import { askHidden } from "../model/askHidden.ts"
import { traced } from "../traced.ts"
import { changedFiles, digest, sessionFacts } from "./sessionFacts.ts"

/** The maximum length of a summary, in characters, and of its list of files. */
const longest = 4_000
const mostFiles = 100

const failedFor = ({ info: { id } }: Live, reason: SummaryFailed["reason"]) => (error: { readonly message: string }) =>
  new SummaryFailed({
    id,
    reason,
    message: `The session ${id} could not be summarised: ${error.message} ${
      reason === "unavailable"
        ? "agent.summary and small_model in skein.json say who writes summaries."
        : "Try again, or let another model write it: agent.summary.model in skein.json."
    }`
  })

const receiptOf = (
  receipt: Keyed | undefined,
  { info: { id: sessionID } }: Live,
  summary: SessionSummary,
  created: number
): ReadonlyArray<Entry> =>
  receipt === undefined
    ? []
    : [{ _tag: "Receipt", receipt: { ...receipt, sessionID, result: JSON.stringify(summary), created } }]

/** Writes a summary of a session and all below it. Does not overwrite a later one that covers more. */
const write = Effect.fn("Session.summary")(function*(live: Live, urgent: boolean, receipt?: Keyed) {
  const journal = yield* Journal
  const facts = yield* sessionFacts(live.info)
  const { until } = facts
  if (until === undefined) {
    const { id } = live.info
    const message = `The session ${id} cannot be summarised: nothing was said in it yet. Prompt it first.`
    return yield* new SummaryFailed({ id, reason: "nothing_said", message })
  }
  const unavailable = failedFor(live, "unavailable")
  const text = yield* askHidden(live, { purpose: "summary", text: digest(facts), urgent }).pipe(
    Effect.catchTags({
      AgentNotFound: unavailable,
      ModelUnavailable: unavailable,
      ModelError: failedFor(live, "model")
    })
  )
  const now = yield* Clock.currentTimeMillis
  const known = live.info.summary
  if (known !== undefined && known.until > until) {
    if (receipt !== undefined) yield* journal.commit(receiptOf(receipt, live, known, now))
    return known
  }
  const files = changedFiles(facts).slice(-mostFiles)
  const summary: SessionSummary = { text: text.slice(0, longest).toWellFormed(), files, until, time: now }
  // A summary does not change the date of a session, so it keeps its place in listings.
  yield* journal.commit([live.record.annotate({ summary }), ...receiptOf(receipt, live, summary, now)])
  return summary
})

/** Summarises a session on request. Interruption closes the request; so does halting the session. */
export const summarize = (live: Live, receipt?: Keyed) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const fiber = yield* startSideFiber(live, inProject(live, write(live, true, receipt)))
      const exit = yield* Effect.onInterrupt(restore(Fiber.await(fiber)), () => Fiber.interrupt(fiber))
      if (Exit.isSuccess(exit)) return exit.value
      if (Cause.isInterruptedOnly(exit.cause)) return yield* stoppedBefore(live.info.id, "it was summarised")
      return yield* Effect.failCause(exit.cause)
    })
  )

const renewed = (live: Live): Effect.Effect<void, never, Effect.Effect.Context<ReturnType<typeof write>>> =>
  Effect.catchAll(
    Effect.asVoid(write(live, false)),
    (error) => Effect.logWarning("No summary", error.message).pipe(Effect.annotateLogs({ session: live.info.id }))
  )

/** Starts to renew the summary of a root, if the config wants that and files have changed; returns at once. */
export const renewSummary = Effect.fnUntraced(function*(live: Live, turn: Exit.Exit<unknown, unknown>) {
  const { settings } = yield* Config
  if (settings.summaries !== true || !live.summary.isStale || Exit.isFailure(turn)) return
  live.summary.isStale = false
  // This summary covers the changes of the last turn.
  if (live.summary.renewal !== undefined) yield* Fiber.interruptFork(live.summary.renewal)
  live.summary.renewal = yield* startSideFiber(live, inProject(live, renewed(live)))
})

/** Waits until the title of a session that a model was asked for is there, and its summary is no longer being renewed. */
export const summarized = (live: Live): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { renewal, title } = live.summary
    const titled = title === undefined ? Effect.void : Fiber.await(title)
    if (renewal === undefined) return Effect.asVoid(titled)
    return Effect.zipRight(titled, Fiber.await(renewal)).pipe(
      Effect.flatMap(() => live.summary.renewal === renewal ? Effect.void : summarized(live))
    )
  })

/** Whether a model is asked for the titles of sessions. Only where the program wants that: it costs a request. */
export class Titles extends Context.Reference<Titles>()("@skein/core/Titles", { defaultValue: () => false }) {}

/** The longest title, in characters. */
const longestTitle = 80

/** The title of a session that has none. */
export const untitled = "New session"

/** The first words of a prompt: the title until there is a better one. */
export const firstWords = (text: string): string => {
  const line = text.trim().split("\n", 1)[0]?.trim() ?? ""
  return line.length > longestTitle ? `${line.slice(0, longestTitle - 1)}…` : line
}

/**
 * Asks for a title, after the request that the user waits for. Failures are logged and leave the title as it is; so does a
 * title that the session was given meanwhile.
 */
export const makeTitle = Effect.fnUntraced(
  function*(live: Live, text: string) {
    if (!(yield* Titles)) return
    yield* live.connected.await
    live.summary.title = yield* Effect.withFiberRuntime<Fiber.Fiber<unknown, unknown>>(Effect.succeed)
    const journal = yield* Journal
    const title = yield* askHidden(live, { purpose: "title", text: text.slice(0, 4_000), urgent: false })
    const clean = firstWords(title.replaceAll(/^["'\s]+|["'\s]+$/g, ""))
    if (clean === "" || live.info.title !== (firstWords(text) || untitled)) return
    const now = yield* Clock.currentTimeMillis
    yield* journal.commit([live.record.change(now, { title: clean })])
  },
  (effect, live) =>
    traced(
      "Session.title",
      () => ({}),
      Effect.catchAll(
        effect,
        (error) => Effect.logDebug("No title", error.message).pipe(Effect.annotateLogs({ session: live.info.id }))
      )
    )
)
