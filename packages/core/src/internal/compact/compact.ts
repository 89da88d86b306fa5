/**
 * Compacts a conversation, automatically or on request: a summary replaces all but the newest messages. Nothing stored
 * is lost.
 */
import type { EventProperties } from "@skein/domain/Event"
import { Ids, type MessageID } from "@skein/domain/Id"
import type { UserMessage } from "@skein/domain/Message"
import type { CompactionPart } from "@skein/domain/Part"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { Agent } from "../../Agent.ts"
import { failpoint } from "../../Failpoints.ts"
import { Hooks } from "../../Hooks.ts"
import { Journal } from "../../Journal.ts"
import { Provider } from "../../Provider.ts"
import { CompactionFailed, stoppedBefore } from "../../Turn.ts"
import type { Entry, Keyed } from "../../Write.ts"
import { isSuperseded, makePrompt } from "../conversation/makePrompt.ts"
import { estimate, rateOf, roomOf, sizeOf } from "../conversation/requestSize.ts"
import { sentOf } from "../conversation/sentMessages.ts"
import type { LiveMessage } from "../live/History.ts"
import { type Live, setStatus, startSideFiber } from "../live/Live.ts"
import { inProject, SessionTable } from "../live/SessionTable.ts"
import { askHidden, modelsFor } from "../model/askHidden.ts"
import * as prompts from "../prompts.ts"
import { placeOf } from "../sessionHooks.ts"
import { cut } from "../text.ts"
import { compactFacts, entriesOf, firstKept, portionsOf } from "./compactText.ts"

/** How short a conversation should become, in tokens, and how hard to try. */
export interface Goal {
  readonly auto: boolean
  readonly tokens: number
  /** The tokens of system prompt and tools. */
  readonly fixed: number
  /** The number of earlier tries: with each one, less is kept, and less is read at once. */
  readonly tries: number
  /** The request of a client that is stored with the summary. */
  readonly receipt?: Keyed | undefined
}

/** The shares of the room for recent messages, the summary, and the added facts. */
const shares = { kept: [0.35, 0.12, 0], summary: 0.2, facts: 0.1 } as const

/** The share of a model's context that each request reads, and the maximum number of pieces of a conversation. */
const portion = 0.7
const mostPortions = 8

/** The minimum length to which any text is truncated, in characters. */
const least = 400

/** How much the summarising agent may read at once, in characters; `rate` is tokens per character. */
const readable = Effect.fnUntraced(function*(live: Live, { tokens, tries }: Goal, rate: number) {
  const agents = yield* Agent
  const provider = yield* Provider
  const refs = yield* modelsFor(live, yield* agents.get("compaction"))
  const found = yield* Effect.option(Effect.firstSuccessOf(refs.map(provider.resolve)))
  const room = Option.match(found, { onNone: () => undefined, onSome: ({ info }) => roomOf(info) })
  // The goal is smaller than what was too long, and leaves room for tools.
  const tokensAtOnce = room === undefined ? tokens : room * portion
  return Math.max(least, Math.floor(tokensAtOnce * 0.5 ** tries / rate))
})

/** Has the conversation summarised, piece by piece if it exceeds the model's context. */
const summarise = Effect.fnUntraced(function*(live: Live, messages: ReadonlyArray<LiveMessage>, room: number) {
  const taken = Math.floor(room * shares.summary)
  const entries = entriesOf(messages, Math.floor((room - taken) / 2))
  const portions = portionsOf(entries, room, taken, mostPortions)
  let summary = ""
  for (const [i, text] of portions.entries()) {
    const before = i === 0 ? "The conversation:" : `The summary so far:\n${summary}\n\nThe conversation continues:`
    const answer = yield* askHidden(live, { purpose: "compaction", text: `${before}\n\n${text}`, urgent: true })
    summary = cut(answer, Math.max(least, taken))
  }
  return summary
})

const lastUser = (messages: ReadonlyArray<LiveMessage>): UserMessage | undefined => {
  const found = messages.findLast(({ info }) => info.role === "user")?.info
  return found?.role === "user" ? found : undefined
}

/** The message that replaces the old ones, with the settings of the user's last message. */
const messageOf = (
  ids: Context.Tag.Service<typeof Ids>,
  user: UserMessage,
  part: Pick<CompactionPart, "auto" | "keptFrom">,
  text: string,
  now: number
): LiveMessage => {
  const info: UserMessage = { ...user, id: ids.unsafeMake("msg", now), time: { created: now } }
  const base = { sessionID: info.sessionID, messageID: info.id }
  return {
    info,
    parts: [
      { ...base, id: ids.unsafeMake("prt", now), type: "compaction", ...part },
      { ...base, id: ids.unsafeMake("prt", now), type: "text", text: text.toWellFormed(), synthetic: true }
    ],
    prompt: undefined
  }
}

const receiptOf = (
  receipt: Keyed | undefined,
  { info: { id: sessionID } }: Live,
  { messageID, tokens: { after, before } }: EventProperties<"session.compacted">,
  created: number
): ReadonlyArray<Entry> =>
  receipt === undefined
    ? []
    : [{ _tag: "Receipt", receipt: { ...receipt, sessionID, result: `${messageID} ${before} ${after}`, created } }]

/** Stores the summary, unless it makes nothing shorter. */
const store = Effect.fnUntraced(function*(
  live: Live,
  { auto, fixed, receipt }: Goal,
  messages: ReadonlyArray<LiveMessage>,
  keptFrom: MessageID | undefined,
  text: string
) {
  const journal = yield* Journal
  const ids = yield* Ids
  const now = yield* Clock.currentTimeMillis
  const user = lastUser(messages)
  if (user === undefined) return "nothing"
  const { measured, wholeFrom } = live.request
  const part = { auto, ...(keptFrom === undefined ? {} : { keptFrom }) }
  const message = messageOf(ids, user, part, text, now)
  const before = sizeOf(makePrompt("", messages, undefined, wholeFrom))
  const after = sizeOf(makePrompt("", [...messages, message], undefined, wholeFrom))
  if (after >= before) return "no_gain"
  const { info, parts } = message
  const stored = live.history.putMessage(info)
  for (const each of parts) live.history.putPart(stored, each)
  const tokens = (size: number) => Math.ceil(fixed) + estimate(size, measured)
  const compacted = { messageID: info.id, auto, tokens: { before: tokens(before), after: tokens(after) } }
  const committing = journal.commit(
    [
      { _tag: "Message", info },
      ...parts.map((each): Entry => ({ _tag: "Part", part: each })),
      journal.fact(live.info, "session.compacted", compacted),
      ...receiptOf(receipt, live, compacted, now)
    ],
    live.info
  )
  yield* failpoint("compaction_before_commit")
  yield* Effect.tapError(committing, () => Effect.sync(() => live.history.removeMessage(info.id)))
  yield* failpoint("compaction_after_commit")
  return compacted
}, Effect.uninterruptible)

const shortening = Effect.fnUntraced(function*(live: Live, goal: Goal) {
  const messages = live.messages ?? []
  const count = messages.length
  const rate = rateOf(live.request.measured)
  const room = Math.max(0, goal.tokens - goal.fixed) / rate
  const sent = sentOf(messages).filter((message, i, all) => !isSuperseded(message, all[i + 1]))
  const at = firstKept(sent, room * (shares.kept[goal.tries] ?? 0))
  const old = sent.slice(0, at)
  // A summary alone is not summarised again, nor is a single message that is itself the request.
  if (old.length < 2) return "nothing"
  if (goal.tries === 0) yield* (yield* Hooks).preCompact(placeOf(live), goal.auto ? "auto" : "manual")
  const summary = yield* summarise(live, old, yield* readable(live, goal, rate))
  const last = old.at(-1)?.info.id
  const gone = messages.filter(({ info }) => last !== undefined && info.id <= last)
  const facts = yield* compactFacts(live.info.id, gone, Math.max(least, room * shares.facts))
  const contexts = live.parent === undefined ? yield* (yield* Hooks).sessionStart(placeOf(live), "compact") : []
  const text = [prompts.compacted, `<summary>\n${summary}\n</summary>`, ...facts, ...contexts].join("\n\n")
  // Messages that arrived meanwhile were not summarised.
  return yield* store(live, goal, messages, (sent[at] ?? messages[count])?.info.id, text)
})

/**
 * Summarises all but the newest messages. Returns the published facts; `nothing` if there is nothing to summarise, and
 * `no_gain` if the summary would not be shorter: then the conversation is unchanged.
 */
export const compact = Effect.fn("Session.compact")(function*(live: Live, goal: Goal) {
  const { status } = live
  yield* setStatus(live, { type: "compacting" })
  return yield* Effect.ensuring(shortening(live, goal), setStatus(live, status))
})

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
