/** Owns the open questions for a person: each is answered once, by the first answer. */
import type { PermissionReply, PermissionRequest } from "@skein/domain/Event"
import type { PermissionID } from "@skein/domain/Id"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { PermissionNotFound } from "../../Answerer.ts"
import { whileAsked } from "../../Metrics.ts"
import type { Caller, Subject } from "../../Ruleset.ts"
import { logUnstored, type StorageError } from "../../StorageError.ts"
import type { Allowance, PermissionAsk } from "../../Tool.ts"
import type { Entry } from "../../Write.ts"

/** How a question ends. */
export interface Answer {
  readonly reply: PermissionReply
  readonly message?: string
  /** Nobody answered: the call was stopped first. */
  readonly withdrawn?: true
  readonly scope?: "tree" | "project"
  /** What allows it, if nobody answered. */
  readonly by?: Allowance
}

/** A call that waits for an answer. */
export interface WaitingAsk {
  readonly request: PermissionRequest
  readonly subject: Subject
  readonly tool: Caller
  readonly ask: PermissionAsk
}

interface Waiting extends WaitingAsk {
  readonly answer: Deferred.Deferred<Answer>
  /** Another fiber is ending it: wait for that. */
  readonly turn: Effect.Semaphore
  /** Whether it is stored: from then on it outlives this process. */
  isStored: boolean
  ended: boolean
}

/** The error for answering a question that is not open. */
export const noQuestion = (id: PermissionID) =>
  new PermissionNotFound({ id, message: `No question ${id} waits for an answer; it may have been answered.` })

const expired: Answer = { reply: "reject", message: "Nobody answered within 24 hours." }
const withdrawn: Answer = {
  reply: "reject",
  message: "The call was stopped before anybody answered.",
  withdrawn: true
}

/** How questions and their ends are stored and published. */
interface Tell {
  readonly asked: (ask: WaitingAsk) => Effect.Effect<void, StorageError>
  readonly replied: (ask: WaitingAsk, answer: Answer, also: ReadonlyArray<Entry>) => Effect.Effect<void, StorageError>
}

/** Makes the list of them. */
export const makeWaitingAsks = (tell: Tell) => {
  const waiting = new Map<PermissionID, Waiting>()

  /** A question that could not be ended stays open. */
  const end = (each: Waiting, answer: Answer, also: ReadonlyArray<Entry> = []) =>
    each.turn.withPermits(1)(Effect.suspend(() => {
      if (each.ended) return Effect.succeed(false)
      waiting.delete(each.request.id)
      return tell.replied(each, answer, also).pipe(
        Effect.onError(() => Effect.sync(() => waiting.set(each.request.id, each))),
        Effect.zipRight(Effect.suspend(() => {
          each.ended = true
          return Deferred.succeed(each.answer, answer)
        }))
      )
    })).pipe(Effect.uninterruptible)

  /** Asks, and gives the answer. */
  const wait = (ask: WaitingAsk, patience: Duration.Duration) =>
    whileAsked(
      "permission",
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function*() {
          const answer = yield* Deferred.make<Answer>()
          const each: Waiting = { ...ask, answer, turn: Effect.unsafeMakeSemaphore(1), isStored: false, ended: false }
          waiting.set(ask.request.id, each)
          yield* tell.asked(ask)
          each.isStored = true
          const given = yield* restore(Effect.timeoutOption(Deferred.await(answer), patience)).pipe(
            // Readers that show the question must learn that it is closed.
            Effect.onInterrupt(() =>
              Effect.catchAll(
                end(each, withdrawn),
                logUnstored("The end of a question could not be stored")
              )
            )
          )
          if (Option.isSome(given)) return given.value
          yield* end(each, expired)
          return yield* Deferred.await(answer)
        })
      )
    ).pipe(Effect.ensuring(Effect.sync(() => waiting.delete(ask.request.id))))

  const sorted = () => [...waiting.values()].toSorted((a, b) => (a.request.id < b.request.id ? -1 : 1))

  return {
    wait,
    /** Ends a question, and makes these changes with it; false if it has ended already, or never existed. */
    answer: (id: PermissionID, answer: Answer, also?: ReadonlyArray<Entry>) =>
      Effect.suspend(() => {
        const found = waiting.get(id)
        return found === undefined ? Effect.succeed(false) : end(found, answer, also)
      }),
    find: (id: PermissionID): WaitingAsk | undefined => waiting.get(id),
    /** All of them, oldest first. */
    all: (): ReadonlyArray<WaitingAsk> => sorted(),
    /** Those that are stored, oldest first: an answer to another one could be for a question that nobody asks again. */
    stored: (): ReadonlyArray<WaitingAsk> => sorted().filter(({ isStored }) => isStored)
  }
}
