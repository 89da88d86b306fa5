/** Goes back to an earlier prompt: the conversation continues in a copy that ends before it. */
import type { BackendError } from "@skein/backend/BackendError"
import type { MessageID } from "@skein/domain/Id"
import type { MessageWithParts } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import type { Acting } from "./Acting.ts"

const wordsOf = ({ parts }: MessageWithParts): string =>
  parts.flatMap((part) => part.type === "text" && part.synthetic !== true ? [part.text] : []).join("\n")

/** Lists what a person has said, the latest first. */
export const listPrompts = ({ backend, model, touch }: Acting): Effect.Effect<void, BackendError> =>
  Effect.gen(function*() {
    const session = model.live?.tree.root.id
    if (session === undefined) {
      model.hint = "There is nothing to go back to yet."
      return
    }
    const messages = yield* backend.sessions.messages(session)
    const prompts = messages.flatMap((message, at) =>
      message.info.role === "user" && message.info.from === undefined && wordsOf(message).trim() !== ""
        ? [{ before: messages[at - 1]?.info.id, text: wordsOf(message), id: message.info.id }]
        : []
    ).toReversed()
    model.choose(
      "Go back to before a prompt. This session stays as it is; files that were changed stay changed",
      prompts.map(({ id, text }) => ({ value: id, label: text.slice(0, 300) })),
      (id) => {
        const found = prompts.find((prompt) => prompt.id === id)
        if (found !== undefined) model.request({ type: "rewind", message: found.before, text: found.text })
        touch()
      }
    )
  })

/** Continues in a copy up to a message, or in a new session; the prompt stands in the input again. */
export const goBack = (
  { backend, close, model, open }: Acting,
  message: MessageID | undefined,
  text: string
): Effect.Effect<void, BackendError> =>
  Effect.gen(function*() {
    const session = model.live?.tree.root.id
    if (session === undefined) return
    if (message === undefined) yield* close
    else yield* open((yield* backend.sessions.fork(session, message)).id)
    model.say(`Back to before: ${text.split("\n", 1)[0]?.slice(0, 200) ?? ""}`)
    model.input.set(text)
  })
