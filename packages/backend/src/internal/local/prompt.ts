/** Prompts sessions of this process: returns once a prompt is stored, and keeps its turn for whoever waits. */
import { Answerer } from "@skein/core/Answerer"
import type { Bus } from "@skein/core/Bus"
import { type PersonPrompt, promptWith } from "@skein/core/PersonPrompt"
import { turnAnswering } from "@skein/core/PromptedTurn"
import { Session } from "@skein/core/Session"
import { PromptInvalid } from "@skein/core/SessionError"
import { SessionStorage } from "@skein/core/SessionStorage"
import type { PromptOptions } from "@skein/core/Turn"
import { MessageID, type SessionID } from "@skein/domain/Id"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { createHash } from "node:crypto"
import type { NewPrompt, Prompted } from "../../Sessions.ts"
import { findSession } from "./find.ts"

const digestOf = (id: SessionID, { agent, command, model, parts, text, words }: NewPrompt): string =>
  createHash("sha256").update(JSON.stringify([id, words, command, text, parts, agent, model])).digest("hex")

const optionsOf = (id: SessionID, prompt: NewPrompt): PromptOptions => {
  const { agent, budget, key, model } = prompt
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(model === undefined ? {} : { model }),
    ...(budget === undefined ? {} : { budget }),
    ...(key === undefined ? {} : { receipt: { key, digest: digestOf(id, prompt) } })
  }
}

/** Denies what would be asked while this goes on, if nobody attends. */
const attended = <A, E, R>(
  id: SessionID,
  until: NewPrompt["unattended"],
  prompting: Effect.Effect<A, E, R>
) =>
  until === undefined ? prompting : Effect.scoped(Effect.gen(function*() {
    const { rootID } = yield* findSession(id)
    yield* Answerer.set(rootID, "nobody")
    return yield* prompting
  }))

/** Prompts, and goes on in the scope whether or not anybody waits for the turn. */
const begin = Effect.fnUntraced(function*(id: SessionID, prompt: NewPrompt, scope: Scope.Scope) {
  type Prompting = ReturnType<typeof promptWith>
  type Refused = Effect.Effect.Error<Prompting>
  const session = yield* Session
  const stored = yield* Deferred.make<MessageID, Refused>()
  const turn = yield* Deferred.make<Effect.Effect.Success<Prompting>, Refused>()
  let notes: ReadonlyArray<string> = []
  const typed: PersonPrompt = prompt
  const prompting = promptWith(
    id,
    typed,
    { ...optionsOf(id, prompt), onStored: (message) => Deferred.unsafeDone(stored, Exit.succeed(message)) },
    (found) => notes = found
  ).pipe(
    Effect.onExit((exit) =>
      Effect.sync(() => {
        Deferred.unsafeDone(turn, exit)
        if (Exit.isFailure(exit)) Deferred.unsafeDone(stored, Exit.failCause(exit.cause))
      })
    )
  )
  const rested = prompt.unattended === "tree" ? Effect.exit(session.untilIdle(id)) : Effect.void
  const whole = Effect.zipRight(Effect.exit(prompting), rested)
  const fiber = yield* Effect.forkIn(Effect.exit(attended(id, prompt.unattended, whole)), scope)
  // Before it is stored, a prompt goes away with who sends it.
  const messageID = yield* Effect.onInterrupt(Deferred.await(stored), () => Fiber.interrupt(fiber))
  return { messageID, notes, turn: Deferred.await(turn) }
})

/** The prompt that was stored under a key; undefined if none was. */
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

/** Makes the function that prompts; what it begins goes on in the scope. */
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
