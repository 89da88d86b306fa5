/** Runs one turn to an answer, or to whatever ended it before that. */
import { Session, type Turn } from "@skein/core/Session"
import type { PromptError, PromptOptions } from "@skein/core/Session"
import type { PartInput } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { since } from "@skein/domain/Usage"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { Scope } from "effect/Scope"
import { nothing, type Unfinished } from "./result.ts"

/** How long a tree that was told to stop may take, in milliseconds. */
const patience = 5_000

/** What is prompted, how, and for how long. */
export interface TurnRequest {
  readonly session: SessionInfo
  readonly parts: ReadonlyArray<PartInput>
  readonly options: PromptOptions
  /** Whether tasks in the background are waited for, and the answers that their results lead to. */
  readonly waits: boolean
  /** Milliseconds. */
  readonly timeout: number | undefined
  /** Is told what there is of a turn that does not come to its end. */
  readonly left: (unfinished: Unfinished) => void
}

/** Prompts a session; undefined where the time ran out. Interruption stops the tree, and waits for that a while. */
export const runTurn = (
  { left, options, parts, session: before, timeout, waits }: TurnRequest
): Effect.Effect<Turn | undefined, PromptError, Scope | Session> =>
  Effect.gen(function*() {
    const session = yield* Session
    const began = yield* Clock.currentTimeMillis
    const answered = Effect.gen(function*() {
      const first = yield* session.prompt(before.id, parts, options)
      const last = waits ? (yield* session.untilIdle(before.id)) ?? first : first
      if (last === first) return first
      const { usage } = yield* session.get(before.id)
      return { ...last, usage: since(before.usage.subtree, usage.subtree) }
    })
    const turn = Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.forkScoped(restore(answered)), (fiber) => {
        // The storage closes after this: a prompt that is being taken back must have come to its end.
        const stopped = Effect.zipRight(Effect.exit(session.stop(before.id)), Fiber.interrupt(fiber))
        return Effect.onInterrupt(
          restore(Fiber.join(fiber)),
          () => Effect.timeoutOption(Effect.disconnect(stopped), patience)
        )
      })
    ).pipe(Effect.onExit((exit) => Exit.isSuccess(exit) ? Effect.void : Effect.map(unfinished(before, began), left)))
    return yield* timeout === undefined
      ? turn
      : Effect.raceFirst(turn, Effect.as(Effect.sleep(timeout), undefined))
  })

/** What a session has to show for a turn that began at this time. */
const unfinished = (before: SessionInfo, began: number): Effect.Effect<Unfinished, never, Session> =>
  Effect.gen(function*() {
    const session = yield* Session
    const { usage } = yield* session.get(before.id)
    const messages = yield* session.messages(before.id)
    const last = messages.findLast(({ info }) => info.role === "assistant" && info.time.created >= began)
    const text = last?.parts.findLast((part) => part.type === "text" && part.text.trim() !== "")
    return {
      sessionID: before.id,
      text: text?.type === "text" ? text.text.trim() : "",
      usage: since(before.usage.subtree, usage.subtree)
    }
  }).pipe(
    // The database is gone or full, which the end of the turn tells already.
    Effect.catchAll(() => Effect.succeed({ ...nothing, sessionID: before.id }))
  )
