/** Begins a prompt that continues whether or not its sender waits: what a server and a front end in this process share. */
import type { MessageID, SessionID } from "@skein/domain/Id"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import { Answerer } from "./Answerer.ts"
import { type PersonPrompt, type PromptFailure, promptWith } from "./PersonPrompt.ts"
import { Session } from "./Session.ts"
import type { PromptOptions, Turn } from "./Turn.ts"

/** A prompt that is stored. */
export interface BegunPrompt {
  /** The message that it becomes. */
  readonly messageID: MessageID
  /** The names in its words that led to nothing, each as a sentence. */
  readonly notes: ReadonlyArray<string>
  /** Waits for the turn that answers it. To stop waiting stops nothing. */
  readonly turn: Effect.Effect<Turn, PromptFailure>
}

/** What to begin. */
export interface Beginning {
  readonly id: SessionID
  readonly rootID: SessionID
  readonly prompt: PersonPrompt
  readonly options: Omit<PromptOptions, "onStored" | "onStoring">
  /** Denies questions until the turn has ended, or until nothing of the session runs. */
  readonly unattended: "turn" | "tree" | undefined
  /** The turn runs in it. */
  readonly scope: Scope.Scope
  /** Called in one step with the storing, and as soon as the turn has ended. */
  readonly onStored?: (messageID: MessageID, turn: BegunPrompt["turn"]) => void
  readonly onEnd?: (messageID: MessageID) => void
}

/** Denies what would be asked in a tree during an effect, if nobody attends. */
export const attended = <A, E, R>(rootID: SessionID, isAttended: boolean, effect: Effect.Effect<A, E, R>) =>
  isAttended ? effect : Effect.scoped(Effect.zipRight(Answerer.set(rootID, "nobody"), effect))

/**
 * Begins it; ends once it is stored. Until storing it begins, the prompt goes away with its sender. After that, nobody
 * can tell whether it will have been stored: it is answered, as its sender finds when it repeats it.
 */
export const beginPrompt = Effect.fnUntraced(function*(beginning: Beginning) {
  const { id, options, prompt, rootID, scope, unattended } = beginning
  const session = yield* Session
  const stored = yield* Deferred.make<MessageID, PromptFailure>()
  const turn = yield* Deferred.make<Turn, PromptFailure>()
  let notes: ReadonlyArray<string> = []
  let messageID: MessageID | undefined
  let isStoring = false
  const onStoring = () => {
    isStoring = true
  }
  const onStored = (message: MessageID) => {
    messageID = message
    beginning.onStored?.(message, Deferred.await(turn))
    Deferred.unsafeDone(stored, Exit.succeed(message))
  }
  const prompting = promptWith(id, prompt, { ...options, onStored, onStoring }, (found) => notes = found).pipe(
    Effect.onExit((exit) =>
      Effect.sync(() => {
        if (messageID !== undefined) beginning.onEnd?.(messageID)
        Deferred.unsafeDone(turn, exit)
        if (Exit.isFailure(exit)) Deferred.unsafeDone(stored, Exit.failCause(exit.cause))
      })
    ),
    Effect.exit
  )
  const rested = unattended === "tree" ? Effect.exit(session.untilIdle(id)) : Effect.void
  const fiber = yield* Effect.forkIn(
    attended(rootID, unattended === undefined, Effect.zipRight(prompting, rested)),
    scope
  )
  const begun = yield* Effect.onInterrupt(
    Deferred.await(stored),
    () => Effect.asVoid<unknown, never, never>(isStoring ? Effect.exit(Deferred.await(stored)) : Fiber.interrupt(fiber))
  )
  return { messageID: begun, notes, turn: Deferred.await(turn) } satisfies BegunPrompt
})
