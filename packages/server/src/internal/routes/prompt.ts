/** Prompts sessions for clients: a prompt goes on without them, and the same one that is sent twice prompts once. */
import type { Prompt } from "@skein/api/Input"
import { problem } from "@skein/api/Problem"
import { answerOf, Session, type Turn } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { PromptError } from "@skein/core/Turn"
import type { MessageID, SessionID } from "@skein/domain/Id"
import { add, none } from "@skein/domain/Usage"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { createHash } from "node:crypto"
import { ServerState } from "../ServerState.ts"
import { asProblem } from "./toProblem.ts"

interface Sent {
  readonly id: SessionID
  readonly prompt: Prompt
  /** What the client calls the prompt, if it may send it again. */
  readonly key: string | undefined
}

const digestOf = ({ id, prompt }: Sent): string =>
  createHash("sha256").update(JSON.stringify([id, prompt])).digest("hex")

/** Begins the prompt, which goes on whether or not its client waits; ends once it is stored. */
const begin = Effect.fnUntraced(function*(sent: Sent) {
  const session = yield* Session
  const { scope, turns } = yield* ServerState
  const stored = yield* Deferred.make<MessageID, PromptError>()
  const turn = yield* Deferred.make<Turn, PromptError>()
  const { agent, model } = sent.prompt
  let messageID: MessageID | undefined
  const prompting = session.prompt(sent.id, "text" in sent.prompt ? sent.prompt.text : sent.prompt.parts, {
    ...(agent === undefined ? {} : { agent }),
    ...(model === undefined ? {} : { model }),
    ...(sent.key === undefined ? {} : { receipt: { key: sent.key, digest: digestOf(sent) } }),
    onStored: (id) => {
      messageID = id
      turns.set(id, turn)
      Deferred.unsafeDone(stored, Effect.succeed(id))
    }
  })
  yield* prompting.pipe(
    Effect.onExit((exit) =>
      Effect.sync(() => {
        if (messageID !== undefined) turns.delete(messageID)
        Deferred.unsafeDone(turn, exit)
        if (Exit.isFailure(exit)) Deferred.unsafeDone(stored, Exit.failCause(exit.cause))
      })
    ),
    Effect.exit,
    Effect.forkIn(scope)
  )
  return yield* Deferred.await(stored)
})

const reused = problem(
  409,
  "IdempotencyKeyReused",
  "This Idempotency-Key was sent with another prompt within 24 hours. Make a new key for each prompt."
)

/** The message that a prompt became that was sent before. */
const sentBefore = Effect.fnUntraced(function*(key: string, digest: string) {
  const storage = yield* SessionStorage
  const receipt = Option.getOrUndefined(yield* asProblem(storage.receipt(key)))
  if (receipt !== undefined && receipt.digest !== digest) return yield* Effect.fail(reused)
  return receipt?.messageID
})

/** Stores a prompt, unless it was stored before; gives the id of its message. */
export const submit = Effect.fnUntraced(function*(sent: Sent) {
  const { key } = sent
  if (key === undefined) return yield* asProblem(begin(sent))
  const { storing } = yield* ServerState
  const digest = digestOf(sent)
  for (;;) {
    const other = storing.get(key)
    if (other !== undefined) {
      yield* Deferred.await(other)
      continue
    }
    const mine = yield* Deferred.make<void>()
    // Somebody else may have been quicker meanwhile.
    if (storing.has(key)) continue
    storing.set(key, mine)
    return yield* Effect.flatMap(
      sentBefore(key, digest),
      (before) => before === undefined ? asProblem(begin(sent)) : Effect.succeed(before)
    ).pipe(Effect.ensuring(Effect.sync(() => {
      storing.delete(key)
      Deferred.unsafeDone(mine, Exit.void)
    })))
  }
})

const unanswered = problem(409, "Unanswered", "The prompt has no answer: its turn was stopped, or failed.")

/** The turn that answered a message which nobody waited for. */
const answeredTurn = Effect.fnUntraced(function*(id: SessionID, messageID: MessageID) {
  const session = yield* Session
  yield* Effect.exit(session.untilIdle(id))
  const messages = yield* asProblem(session.messages(id))
  const at = messages.findIndex(({ info }) => info.id === messageID)
  const next = messages.findIndex(({ info }, index) => index > at && info.role === "user")
  const answers = at < 0 ? [] : messages.slice(at + 1, next < 0 ? undefined : next)
  const usage = answers.reduce((sum, { info }) => info.role === "assistant" ? add(sum, info.usage) : sum, none)
  const last = answers.at(-1)
  if (last?.info.role !== "assistant" || last.info.error !== undefined) return yield* Effect.fail(unanswered)
  const { info, parts } = last
  return { sessionID: id, info, parts, text: answerOf(parts), end: "completed" as const, usage }
})

/** Waits for the turn that answers a message. A client that goes away stops nothing. */
export const turnOf = Effect.fnUntraced(function*(id: SessionID, messageID: MessageID) {
  const { turns } = yield* ServerState
  const running = turns.get(messageID)
  const turn = running === undefined
    ? yield* answeredTurn(id, messageID)
    : yield* asProblem(Deferred.await(running))
  const { end, info, parts, text, usage } = turn
  return { sessionID: id, messageID, info, parts, text, end, usage }
})
