/** Prompts sessions for clients. A prompt continues without its client, and a repeated one prompts once. */
import type { Prompt } from "@skein/api/Input"
import { problem } from "@skein/api/Problem"
import { beginPrompt, type BegunPrompt, isPrompt, type PersonPrompt, turnAnswering } from "@skein/core/PersonPrompt"
import { Session, type Turn } from "@skein/core/Session"
import { eachMessagePage, SessionStorage } from "@skein/core/SessionStorage"
import type { PromptOptions } from "@skein/core/Turn"
import type { Keyed } from "@skein/core/Write"
import { MessageID, type SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ServerState } from "../ServerState.ts"
import { once } from "./once.ts"
import { asProblem } from "./toProblem.ts"

/** A stored prompt. */
type Stored = Pick<BegunPrompt, "messageID" | "notes">

interface Sent {
  readonly id: SessionID
  readonly rootID: SessionID
  readonly prompt: Prompt
  /** The client's key for the prompt, if it may repeat it. */
  readonly key: string | undefined
}

const typedOf = (prompt: Prompt): PersonPrompt =>
  "words" in prompt || "command" in prompt
    ? prompt
    : { parts: "text" in prompt ? [{ type: "text", text: prompt.text }] : prompt.parts }

const optionsOf = ({ prompt }: Sent, receipt: Keyed | undefined): PromptOptions => {
  const { after, agent, budget, model } = prompt
  return {
    ...(after === undefined ? {} : { after }),
    ...(agent === undefined ? {} : { agent }),
    ...(model === undefined ? {} : { model }),
    ...(budget === undefined ? {} : { budget }),
    ...(receipt === undefined ? {} : { receipt })
  }
}

/** Begins the prompt, which continues whether or not its client waits. Ends once it is stored. */
const begin = Effect.fnUntraced(function*(sent: Sent, receipt: Keyed | undefined) {
  const { scope, turns } = yield* ServerState
  const { messageID, notes } = yield* beginPrompt({
    id: sent.id,
    rootID: sent.rootID,
    prompt: typedOf(sent.prompt),
    options: optionsOf(sent, receipt),
    unattended: sent.prompt.unattended,
    scope,
    onStored: (id, turn) => void turns.set(id, turn),
    onEnd: (id) => void turns.delete(id)
  })
  return { messageID, notes } satisfies Stored
})

/** Stores a prompt, unless it was stored before. */
export const submit = (sent: Sent) =>
  once(
    { key: sent.key, content: [sent.id, sent.prompt] },
    (receipt) => asProblem(begin(sent, receipt)),
    ({ result }): Effect.Effect<Stored> => Effect.succeed({ messageID: MessageID.make(result), notes: [] })
  )

/** The turn that answered a message without a waiting client. An earlier process may have begun it. */
const answeredTurn = Effect.fnUntraced(function*(id: SessionID, messageID: MessageID) {
  const session = yield* Session
  const storage = yield* SessionStorage
  const { options } = yield* ServerState
  const { rootID } = yield* asProblem(session.get(id))
  // Any server reports a turn that has ended, also where its tree may not be worked in.
  const isUnfinished = (yield* asProblem(storage.unfinished)).includes(rootID)
  if (options.resume && isUnfinished) yield* asProblem(session.resume(id))
  return yield* asProblem(turnAnswering(id, messageID))
})

/** A turn as clients see it. */
export const shownTurn = ({ end, info, parts, sessionID, text, usage }: Turn) => ({
  sessionID,
  info,
  parts,
  text,
  end,
  usage
})

const isMessageID = Schema.is(MessageID)

/** The message with this id, even if the session has not read it yet. */
export const findMessage = Effect.fnUntraced(function*(id: SessionID, given: string) {
  const storage = yield* SessionStorage
  const { turns } = yield* ServerState
  if (isMessageID(given)) {
    if (turns.has(given)) return given
    let isThere = (yield* asProblem(storage.inbox(id))).rows.some((each) => each.id === given)
    yield* asProblem(eachMessagePage(id, ({ rows }) =>
      Effect.sync(() => {
        isThere ||= rows.some(({ info }) => isPrompt(info, given))
      })))
    if (isThere) return given
  }
  return yield* Effect.fail(
    problem(404, "MessageNotFound", `There is no message ${given.slice(0, 100)} in the session ${id}.`)
  )
})

/** Waits for the turn that answers a message. A client that disconnects stops nothing. */
export const turnOf = Effect.fnUntraced(function*(id: SessionID, messageID: MessageID) {
  const { turns } = yield* ServerState
  const running = turns.get(messageID)
  const turn = running === undefined
    ? yield* answeredTurn(id, messageID)
    : yield* asProblem(running)
  return { ...shownTurn(turn), messageID }
})
