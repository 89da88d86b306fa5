/** Closes everything when a turn ends early: every call gets a result, every answer an end, and its request is charged. */
import { isInert } from "@skein/domain/InboxRow"
import type { AssistantMessage, ErrorInfo } from "@skein/domain/Message"
import { formatRef } from "@skein/domain/Model"
import type { MessageWithParts, Part, ToolPart } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { add, none } from "@skein/domain/Usage"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Journal } from "../../Journal.ts"
import { countUsage } from "../../Metrics.ts"
import type { Entry } from "../../Write.ts"
import { rateOf } from "../budget/BudgetNode.ts"
import { charge, usedBy } from "../live/charge.ts"
import type { LiveMessage } from "../live/History.ts"
import type { Live } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { missingResult } from "./makePrompt.ts"
import { tokensSaid } from "./requestSize.ts"

/** The message for a call to which nothing happened. */
export const notRun = "The call was not run: the turn was stopped before."

/** Ends a call without a result; `why` replaces the usual reason. */
export const endCall = (part: ToolPart, isUnbegun: boolean, now: number, why?: string): ToolPart => {
  const { intent, state } = part
  const isNotRun = state.status === "pending" || isUnbegun || intent?.begun === false
  const usual = isNotRun ? notRun : missingResult
  const message = why === undefined ? usual : isNotRun ? `The call was not run. ${why}` : `${missingResult} ${why}`
  const error = { tag: "interrupted", message }
  const start = state.status === "running" ? state.time.start : now
  return { ...part, state: { status: "error", input: state.input, error, time: { start, end: now } } }
}

/** Whether an answer was made here, as if a model had asked for the task. */
export const isOfUser = ({ parts }: Pick<MessageWithParts, "parts">): boolean =>
  parts.length === 1 && parts.every((part) => part.type === "tool" && part.tool === "task" && part.callID === part.id)

/** The end of such an answer, with its call. */
export const endSubtask = (info: AssistantMessage, now: number): AssistantMessage => ({
  ...info,
  finish: "tool-calls",
  time: { ...info.time, completed: now }
})

const interrupted: ErrorInfo = { tag: "interrupted", message: "Stopped before the answer was complete." }
const died: ErrorInfo = { tag: "died", message: "The process that asked for this answer ended before it was complete." }

/** Ends an incomplete answer in the same way. */
export const endAnswer = (
  info: AssistantMessage,
  { parts }: Pick<MessageWithParts, "parts">,
  now: number,
  error = interrupted
): AssistantMessage =>
  isOfUser({ parts })
    ? endSubtask(info, now)
    : { ...info, error: info.error ?? error, time: { ...info.time, completed: now } }

/** Charges the request of an incomplete answer: in full if its process has died, else what has arrived of the answer. */
const chargeOpen = (live: Live, info: AssistantMessage, parts: ReadonlyArray<Part>, now: number) => {
  const reserved = parts.find((part) => part.type === "step-start")?.reserved
  if (reserved === undefined || live.request.charged === info.id) return { info, writes: [] }
  const said = tokensSaid(parts, rateOf(live.budget, formatRef(info)))
  const received = live.request.own.has(info.id) ? said : Math.max(reserved.output, said)
  const usage = { ...none, ...usedBy(reserved, undefined, received, false), steps: 1 }
  live.request.charged = info.id
  countUsage(info, usage)
  return { info: { ...info, usage: add(info.usage, usage) }, writes: charge(live, usage, now) }
}

/**
 * Ends the incomplete answers of models among these messages, with their calls, which were not made; returns the writes. The
 * model is asked again.
 */
export const endAnswers = (
  live: Live,
  messages: ReadonlyArray<LiveMessage>,
  now: number
): ReadonlyArray<Entry> =>
  messages.flatMap((message): ReadonlyArray<Entry> => {
    const { info: open, parts } = message
    if (open.role !== "assistant" || open.time.completed !== undefined || isOfUser(message)) return []
    const { info, writes } = chargeOpen(live, open, parts, now)
    const ended = endAnswer(info, message, now, live.request.own.has(open.id) ? interrupted : died)
    live.history.putMessage(ended)
    const calls = parts.filter((part) => part.type === "tool" && !isOver(part)).map((part) => {
      const call = endCall(part as ToolPart, true, now)
      live.history.putPart(message, call)
      return call
    })
    return [
      { _tag: "Message", info: ended },
      // A cut-off answer may exist in memory alone; more of it may have been published than is known here.
      ...[...parts.filter(({ type }) => type === "step-start"), ...calls].map((part) =>
        ({ _tag: "Part", part }) as const
      ),
      ...writes
    ]
  })

/** Charges in full what a dead process had asked hidden agents in a session, and counts its death; returns the writes. */
export const endQuestions = (live: Live, now: number): ReadonlyArray<Entry> => {
  const { asking = [], turn } = live.info
  const own = asking.filter(({ id }) => live.request.own.has(id))
  const lost = asking.filter((each) => !own.includes(each))
  if (lost.length === 0) return []
  const until = live.messages?.at(-1)?.info.id
  const isCounted = live.hasOpenTurn && until !== undefined && lost.some(({ purpose }) => purpose === "compaction")
  const deaths = turn?.uncompacted?.until === until ? turn?.uncompacted?.deaths ?? 0 : 0
  return [
    live.record.annotate({
      asking: own.length === 0 ? undefined : own,
      ...(turn === undefined || !isCounted ? {} : { turn: { ...turn, uncompacted: { until, deaths: deaths + 1 } } })
    }),
    ...lost.flatMap(({ reserved }) =>
      charge(live, { ...none, ...usedBy(reserved, undefined, reserved.output, false) }, now, true)
    )
  ]
}

const isOver = ({ state }: ToolPart): boolean => state.status === "completed" || state.status === "error"

/** A session and its messages, as far as they say who died. */
interface Asking {
  readonly info: Pick<SessionInfo, "turn">
  readonly messages?: ReadonlyArray<MessageWithParts> | undefined
}

/**
 * How often in a row the process has died that asked for the next answer of a session, or compacted the conversation for it, since
 * somebody had it ask anew.
 */
const deathsIn = ({ info: { turn }, messages = [] }: Asking): number => {
  const { deaths = 0, until } = turn?.uncompacted ?? {}
  const own = messages.filter(({ info, parts }) =>
    info.role === "assistant" || !parts.every((part) => part.type === "text" && part.synthetic === true)
  )
  const last = own.findLastIndex(({ info }) =>
    info.role === "user" || info.error?.tag !== died.tag || info.id === turn?.forgiven
  )
  return Math.max(own.length - 1 - last, messages.at(-1)?.info.id === until ? deaths : 0)
}

/** How often in a row a process may die while it waits for the same answer. Then somebody must look before it is asked again. */
const mostDeaths = 3

/** Whether it died that often. */
export const diedTooOften = (asking: Asking): boolean => deathsIn(asking) >= mostDeaths

/** Says so. */
export const deadly = `The process died ${mostDeaths} times in a row while it waited for the same answer of the model.`

/** Begins that count anew; returns the writes. */
export const forgiveDeaths = (live: Live): ReadonlyArray<Entry> => {
  const { turn } = live.info
  if (turn === undefined || deathsIn(live) === 0) return []
  const forgiven = live.messages?.findLast(({ info }) => info.role === "assistant")?.info.id
  const { leftAlone: _, uncompacted: __, ...rest } = turn
  return [live.record.annotate({ turn: { ...rest, ...(forgiven === undefined ? {} : { forgiven }) } })]
}

/** Ends what is still open. */
export const closeTurn = Effect.fnUntraced(function*(live: Live) {
  const journal = yield* Journal
  const now = yield* Clock.currentTimeMillis
  const requests = [...endAnswers(live, live.messages ?? [], now), ...endQuestions(live, now)]
  const calls: Array<Entry> = []
  for (const message of live.messages ?? []) {
    const { info, parts } = message
    if (info.role === "assistant" && info.time.completed === undefined) {
      const over = endSubtask(info, now)
      live.history.putMessage(over)
      calls.push({ _tag: "Message", info: over })
    }
    for (const part of parts) {
      if (part.type !== "tool" || isOver(part)) continue
      const ended = endCall(part, live.calls.isUnbegun(part.id), now)
      calls.push({ _tag: "Part", part: ended })
      live.history.putPart(message, ended)
    }
  }
  if (requests.length + calls.length === 0) return
  yield* journal.commit([...requests, ...calls], live.info)
  live.calls.forget()
})

/**
 * Ends a turn that a crash interrupted and that must not continue. This is a stop, which holds for what the turn has
 * started, unless one is stored already.
 */
export const closeStopped = Effect.fnUntraced(function*(live: Live) {
  const table = yield* SessionTable
  const journal = yield* Journal
  const { turn } = live.info
  if (turn === undefined) return
  yield* table.history(live)
  yield* closeTurn(live)
  const now = yield* Clock.currentTimeMillis
  const stop = isInert(turn, live.stops.all) ? {} : live.record.stopped
  yield* journal.commit([live.record.change(now, { ...stop, turn: { ...turn, ended: { at: now, how: "stopped" } } })])
})
