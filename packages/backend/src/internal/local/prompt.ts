/** Prompts sessions of this process: returns once a prompt is stored, and keeps its turn for callers that wait. */
import { beginPrompt } from "@skein/core/BegunPrompt"
import type { Bus } from "@skein/core/Bus"
import { turnAnswering } from "@skein/core/PromptedTurn"
import type { Session } from "@skein/core/Session"
import { PromptInvalid } from "@skein/core/SessionError"
import { findSession } from "@skein/core/SessionLookup"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { PromptOptions } from "@skein/core/Turn"
import { MessageID, type SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { createHash } from "node:crypto"
import type { NewPrompt, Prompted } from "../../Sessions.ts"

const digestOf = (id: SessionID, { agent, command, model, parts, text, words }: NewPrompt): string =>
  createHash("sha256").update(JSON.stringify([id, words, command, text, parts, agent, model])).digest("hex")

const optionsOf = (id: SessionID, prompt: NewPrompt): PromptOptions => {
  const { after, agent, budget, key, model } = prompt
  return {
    ...(after === undefined ? {} : { after }),
    ...(agent === undefined ? {} : { agent }),
    ...(model === undefined ? {} : { model }),
    ...(budget === undefined ? {} : { budget }),
    ...(key === undefined ? {} : { receipt: { key, digest: digestOf(id, prompt) } })
  }
}

/** Prompts, and continues in the scope even if its caller stops waiting. */
const begin = Effect.fnUntraced(function*(id: SessionID, prompt: NewPrompt, scope: Scope.Scope) {
  const { rootID } = yield* findSession(id)
  return yield* beginPrompt({
    id,
    rootID,
    prompt,
    options: optionsOf(id, prompt),
    unattended: prompt.unattended,
    scope
  })
})

/** The prompt that was stored under a key, if any. */
const storedBefore = Effect.fnUntraced(function*(id: SessionID, key: string, prompt: NewPrompt) {
  const storage = yield* SessionStorage
  const receipt = Option.getOrUndefined(yield* storage.receipt(key))
  if (receipt === undefined) return undefined
  if (receipt.digest !== digestOf(id, prompt)) {
    return yield* new PromptInvalid({
      message: `The key ${key} was sent with another prompt within 24 hours. Make a new key for each prompt.`
    })
  }
  return MessageID.make(receipt.result)
})

/** Makes the function that prompts. Its prompts continue in the scope. */
export const makePrompt = (scope: Scope.Scope) => {
  const storing = new Map<string, Effect.Semaphore>()
  return Effect.fnUntraced(function*(id: SessionID, prompt: NewPrompt) {
    const { key } = prompt
    if (key === undefined) return yield* begin(id, prompt, scope)
    const services = yield* Effect.context<Bus | Session | SessionStorage>()
    const turn = storing.get(key) ?? Effect.unsafeMakeSemaphore(1)
    storing.set(key, turn)
    return yield* Effect.gen(function*() {
      const messageID = yield* storedBefore(id, key, prompt)
      return messageID === undefined ? yield* begin(id, prompt, scope) : {
        messageID,
        notes: [],
        turn: Effect.provide(turnAnswering(id, messageID), services)
      } satisfies Prompted
    }).pipe(turn.withPermits(1), Effect.ensuring(Effect.sync(() => storing.delete(key))))
  })
}
