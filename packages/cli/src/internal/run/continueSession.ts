/** Continues a session without a prompt: after a crash, or after a turn that was cut off. */
import { Backend } from "@skein/backend/Backend"
import { eachPage, lastMessage, type NewPrompt, type Turn } from "@skein/backend/Sessions"
import { answerOf } from "@skein/core/Session"
import type { MessageWithParts } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import * as Effect from "effect/Effect"
import { UsageError } from "../../UsageError.ts"
import { answered, withUsage } from "./turn.ts"

/** The prompt for an agent whose turn was stopped, failed, or ended at a limit. */
export const continueText = "Continue where you left off."

/** The answer that a session has already given. */
const lastAnswer = Effect.fnUntraced(function*({ id }: SessionInfo) {
  const { sessions } = yield* Backend
  const last = yield* lastMessage(sessions, id, ({ info }) => info.role === "assistant")
  if (last?.info.role !== "assistant") {
    return yield* new UsageError({
      message: `Nothing was said in ${id} yet. Give it a prompt: skein sessions resume ${id} "…"`
    })
  }
  const { info, parts } = last
  return { sessionID: id, info, parts, text: answerOf(parts), end: "completed", usage: none } satisfies Turn
})

/** A turn with the answers that came before its own, after the message `last`: each ended a turn. */
const withEarlier = Effect.fnUntraced(function*(turn: Turn, last: string) {
  const { sessions } = yield* Backend
  const earlier: Array<string> = []
  let before: MessageWithParts | undefined
  yield* eachPage((page) => sessions.messages(turn.sessionID, page), (messages) =>
    Effect.sync(() => {
      for (const message of messages) {
        if (message.info.id <= last) continue
        const isAnswer = before?.info.role === "assistant" && before.info.id !== turn.info.id
          && !before.parts.some(({ type }) => type === "tool")
        if (isAnswer && message.info.role === "user") earlier.push(answerOf(before?.parts ?? []))
        before = message
      }
    }))
  const texts = earlier.filter((text) => text !== "")
  return texts.length === 0 ? turn : { ...turn, text: [...texts, turn.text].join("\n\n") }
})

/**
 * Ends when the tree is idle, with the last turn of the session, and the answers of turns before it that were left. If a crash left nothing, an agent whose turn did not
 * finish is asked to continue. For one that has answered, `note` says so.
 */
export const continueSession = Effect.fnUntraced(function*(
  before: SessionInfo,
  unattended: NewPrompt["unattended"],
  note: (line: string) => void
) {
  const { sessions } = yield* Backend
  const [newest] = (yield* sessions.messages(before.id, { newest: 1 })).items
  yield* sessions.resume(before.id)
  const rested = yield* Effect.either(sessions.rest(before.id))
  if (before.id !== before.rootID) yield* Effect.exit(sessions.rest(before.rootID))
  const { turn } = yield* sessions.get(before.id)
  // A server that knows the session from before answers with the turn that had ended already.
  if (turn?.ended === undefined || turn.ended.at !== before.turn?.ended?.at) {
    const last = yield* rested
    if (last !== undefined) return yield* withEarlier(yield* withUsage(last, before), newest?.info.id ?? "")
  }
  if (turn?.ended !== undefined && turn.ended.how !== "completed") {
    const prompt = Effect.flatMap(
      sessions.prompt(before.id, {
        parts: [{ type: "text", text: continueText }],
        ...(unattended === undefined ? {} : { unattended })
      }),
      (prompted) => prompted.turn
    )
    return yield* answered({ session: before, prompt, waits: true })
  }
  const answer = yield* lastAnswer(before)
  note(`There was nothing to continue in ${before.id}: its last turn has ended, with this answer.`)
  return answer
})
