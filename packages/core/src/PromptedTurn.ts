/** Finds the turn that answers a message which is stored, whichever process began it. */
import type { MessageID, SessionID } from "@skein/domain/Id"
import type { Message } from "@skein/domain/Message"
import type { Part } from "@skein/domain/Part"
import { isAtRest, type SessionInfo } from "@skein/domain/SessionInfo"
import { add, none } from "@skein/domain/Usage"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Bus } from "./Bus.ts"
import { answerOf, Session } from "./Session.ts"
import { stoppedBefore } from "./SessionError.ts"
import { SessionStorage } from "./SessionStorage.ts"
import { StorageError } from "./StorageError.ts"
import type { Turn } from "./Turn.ts"

/** The turn ended without an answer; this is what is stored of the reason. */
export class TurnFailed extends Schema.TaggedError<TurnFailed>()("TurnFailed", {
  /** The tag of the error that ended it. */
  tag: Schema.String,
  message: Schema.String,
  /** The exhausted budget. */
  which: Schema.optional(Schema.Literal("steps", "tokens", "usd", "time"))
}) {}

/** Whether a message is the prompt of this id: it may have got another one when it was read. */
export const isPrompt = (info: Message, id: MessageID): boolean =>
  info.id === id || (info.role === "user" && info.promptID === id)

/** Whether the answer to a message is still to come. */
const isOpen = Effect.fnUntraced(function*({ id, turn }: SessionInfo, messageID: MessageID) {
  const session = yield* Session
  const storage = yield* SessionStorage
  const { rows } = yield* storage.inbox(id)
  if (rows.some((each) => each.id === messageID)) return true
  if (turn === undefined || turn.ended !== undefined) return false
  // A turn that nobody works on waits to be resumed.
  return !isAtRest(yield* session.status(id))
})

/** Whether the turn that answers a message has begun and not ended. */
const isUnended = ({ turn }: SessionInfo, messageID: MessageID): boolean =>
  turn !== undefined && turn.ended === undefined && (turn.first === undefined || messageID >= turn.first)

/** How long to wait for a turn that nobody works on: it may be about to continue, here or in another process. */
const patience = "10 seconds"

const leftUnended = (id: SessionID): StorageError =>
  new StorageError({
    operation: "wait",
    reason: "held",
    message:
      `The turn of the session ${id} has not ended, and this process does not work on it. It may continue in another one: ask again in a moment. If it does not, continue it with \`skein sessions resume ${id}\`.`
  })

/** Waits for the end of the turn that answers a message; background tasks may continue. Fails if nobody works on it. */
const ended = (id: SessionID, messageID: MessageID) =>
  Effect.scoped(Effect.gen(function*() {
    const bus = yield* Bus
    const session = yield* Session
    const changed = yield* Effect.makeLatch()
    yield* bus.listen({ sessionID: id, deltas: false }, (event) => {
      if (event.type !== "message.part.updated") changed.unsafeOpen()
    })
    for (;;) {
      const info = yield* session.get(id)
      const isAwaited = yield* isOpen(info, messageID)
      if (!isAwaited && !isUnended(info, messageID)) return info
      const change = Effect.as(changed.await, true)
      const hasChanged = yield* isAwaited ? change : Effect.timeoutTo(change, {
        duration: patience,
        onSuccess: () => true,
        onTimeout: () => false
      })
      if (!hasChanged) return yield* leftUnended(id)
      changed.unsafeClose()
    }
  }))

const unanswered = ({ id, turn }: SessionInfo) => {
  const { error, how = "stopped", which } = turn?.ended ?? {}
  return error === undefined || how === "stopped"
    ? stoppedBefore(id, "it answered")
    : new TurnFailed({ ...error, ...(which === undefined ? {} : { which }) })
}

/** Whether a stop ended a call. */
const isCutOff = (part: Part): boolean =>
  part.type === "tool" && part.state.status === "error" && part.state.error.tag === "interrupted"

/** Waits for the turn that answers a message, and gives it. */
export const turnAnswering = Effect.fnUntraced(function*(id: SessionID, messageID: MessageID) {
  const session = yield* Session
  const info = yield* ended(id, messageID)
  const { turn } = info
  const messages = yield* session.messages(id)
  const at = messages.findIndex((each) => isPrompt(each.info, messageID))
  // Only of the last turn is it stored where it began: it answers all messages from there on.
  const isLast = turn?.first !== undefined && (messages[at]?.info.id ?? messageID) >= turn.first
  const next = isLast ? -1 : messages.findIndex((each, index) => index > at && each.info.role === "user")
  const answers = at < 0 ? [] : messages.slice(at + 1, next < 0 ? undefined : next)
  const last = answers.findLast((each) => each.info.role === "assistant")
  if (last?.info.role !== "assistant" || last.info.error !== undefined) return yield* unanswered(info)
  const how = isLast ? turn?.ended?.how : undefined
  // The calls of its last answer were cut off: that answer is none.
  if (how === "stopped" || how === "failed") return yield* unanswered(info)
  if (!isLast && last.parts.some(isCutOff)) return yield* stoppedBefore(id, "it answered")
  return {
    sessionID: id,
    info: last.info,
    parts: last.parts,
    text: answerOf(last.parts),
    end: how === "denied" || how === "steps" ? how : "completed",
    usage: answers.reduce((sum, each) => each.info.role === "assistant" ? add(sum, each.info.usage) : sum, none)
  } satisfies Turn
})
