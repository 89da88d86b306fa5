/** Sees to it that no call stays open when a turn breaks off: each gets a result that says what is known of it. */
import type { ToolPart } from "@skein/domain/Part"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Journal } from "../../Journal.ts"
import { missingResult } from "./history.ts"
import { type Live, putPart } from "./live.ts"

const closed = (part: ToolPart, now: number): ToolPart => {
  const { state } = part
  const error = state.status === "pending"
    ? { tag: "interrupted", message: "The call was not started: the turn was stopped before." }
    : { tag: "interrupted", message: missingResult }
  const start = state.status === "running" ? state.time.start : now
  return { ...part, state: { status: "error", input: state.input, error, time: { start, end: now } } }
}

/** Ends the calls that are still pending or running. Where that cannot be stored it is logged: the turn has failed already. */
export const closeCalls = Effect.fnUntraced(function*(live: Live) {
  const journal = yield* Journal
  const now = yield* Clock.currentTimeMillis
  const ended: Array<ToolPart> = []
  for (const message of live.messages ?? []) {
    for (const part of message.parts) {
      if (part.type !== "tool" || part.state.status === "completed" || part.state.status === "error") continue
      ended.push(closed(part, now))
    }
  }
  if (ended.length === 0) return
  for (const part of ended) {
    const message = live.messages?.find((each) => each.info.id === part.messageID)
    if (message !== undefined) putPart(message, part)
  }
  yield* journal.commit(
    ended.map((part) => ({ _tag: "Part", part })),
    ended.map((part) => journal.event(live.info, "message.part.updated", { part }, now))
  )
}, (effect) => Effect.catchAll(effect, (error) => Effect.logError("Open calls could not be ended", error.message)))
