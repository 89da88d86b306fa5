/** Closes everything when a turn ends early: every call gets a result, every answer an end. */
import type { AssistantMessage } from "@skein/domain/Message"
import type { MessageWithParts, Part, ToolPart } from "@skein/domain/Part"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Journal } from "../../Journal.ts"
import type { Live } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { missingResult } from "./makePrompt.ts"

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

/** Ends an incomplete answer in the same way. */
export const endAnswer = (info: AssistantMessage, { parts }: Pick<MessageWithParts, "parts">, now: number) =>
  isOfUser({ parts }) ? endSubtask(info, now) : {
    ...info,
    error: info.error ?? { tag: "interrupted", message: "Stopped before the answer was complete." },
    time: { ...info.time, completed: now }
  }

/** Ends what is still open. */
export const closeTurn = Effect.fnUntraced(function*(live: Live) {
  const journal = yield* Journal
  const now = yield* Clock.currentTimeMillis
  const answers: Array<AssistantMessage> = []
  const begun: Array<Part> = []
  const calls: Array<ToolPart> = []
  for (const message of live.messages ?? []) {
    const { info, parts } = message
    const isOpen = info.role === "assistant" && info.time.completed === undefined
    if (isOpen) answers.push(endAnswer(info, message, now))
    for (const part of parts) {
      // A cut-off answer exists in memory alone; more of it may have been published than is known here.
      if (isOpen && part.type === "step-start") begun.push(part)
      if (part.type !== "tool" || part.state.status === "completed" || part.state.status === "error") continue
      const ended = endCall(part, live.history.isUnbegun(part.id), now)
      calls.push(ended)
      live.history.putPart(message, ended)
    }
  }
  if (answers.length + calls.length === 0) return
  for (const info of answers) live.history.putMessage(info)
  yield* journal.commit(
    [
      ...answers.map((info) => ({ _tag: "Message", info }) as const),
      ...[...begun, ...calls].map((part) => ({ _tag: "Part", part }) as const)
    ],
    live.info
  )
  live.history.clearUnbegun()
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
  const at = turn.ended?.at ?? now
  const stop = turn.ended === undefined ? live.record.stopped : {}
  yield* journal.commit([live.record.change(now, { ...stop, turn: { ...turn, ended: { at, how: "stopped" } } })])
})
