/** Runs a turn to its answer, or to whatever ended it earlier. */
import { Backend } from "@skein/backend/Backend"
import { lastMessage, type NewPrompt, type Turn } from "@skein/backend/Sessions"
import { answerOf } from "@skein/core/Session"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { none, since } from "@skein/domain/Usage"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type { Scope } from "effect/Scope"
import { UsageError } from "../../ExitCode.ts"
import { nothing, type Unfinished } from "./result.ts"

/** How long a tree may take to stop, in milliseconds. */
const patience = 5_000

/** If the tree did not stop in time: how long reading the unfinished turn may take, in milliseconds. */
const lastLook = 500

/** A prompt, and whether the run ends with its answer. */
interface PromptRequest<E, R> {
  readonly session: SessionInfo
  readonly prompt: Effect.Effect<Turn, E, R>
  /** Whether to wait for background tasks, and for the answers to their results. */
  readonly waits: boolean
}

/** A turn with the usage of the session since this snapshot of it. */
const withUsage = Effect.fnUntraced(function*(turn: Turn, before: SessionInfo) {
  const { usage } = yield* Effect.flatMap(Backend, ({ sessions }) => sessions.get(before.id))
  return { ...turn, usage: since(before.usage.subtree, usage.subtree) } satisfies Turn
})

/** Prompts a session. */
export const answered = Effect.fnUntraced(function*<E, R>({ prompt, session: before, waits }: PromptRequest<E, R>) {
  const { sessions } = yield* Backend
  const first = yield* prompt
  const last = waits ? (yield* sessions.rest(before.id)) ?? first : first
  return last.info.id === first.info.id ? first : yield* withUsage(last, before)
})

/** The work of a session, and its time limit. */
interface TurnRequest<E, R> {
  readonly session: SessionInfo
  readonly work: Effect.Effect<Turn, E, R>
  /** Milliseconds. */
  readonly timeout: number | undefined
  /** Called when the time has run out, before the tree is stopped. */
  readonly late: () => void
  /** Who stops the tree if the run is interrupted; undefined to leave it running. */
  readonly stoppedBy: () => string | undefined
  /** Receives what exists of a turn that does not finish. */
  readonly left: (unfinished: Unfinished, isStopConfirmed: boolean) => void
}

/** Waits for the turn; undefined if the time ran out. Interruption stops the tree, and waits a few seconds for that. */
export const runTurn = <E, R>(
  { late, left, session: before, stoppedBy, timeout, work }: TurnRequest<E, R>
): Effect.Effect<Turn | undefined, E, Backend | R | Scope> =>
  Effect.gen(function*() {
    const { sessions } = yield* Backend
    const began = yield* Clock.currentTimeMillis
    let isLate = false
    const turn = Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.forkScoped(restore(work)), (fiber) => {
        // The storage closes after this, so a prompt that is being withdrawn must have ended.
        const stop = Effect.suspend(() => {
          const by = stoppedBy()
          return by === undefined ? Effect.void : sessions.stop(before.rootID, by)
        })
        const stopped = Effect.zipRight(Effect.exit(stop), Fiber.interrupt(fiber))
        return Effect.onInterrupt(
          restore(Fiber.join(fiber)),
          () =>
            Effect.map(
              Effect.timeoutOption(Effect.interruptible(Effect.disconnect(stopped)), patience),
              (done) => void (isLate = Option.isNone(done))
            )
        )
      })
    ).pipe(Effect.onExit((exit) =>
      Exit.isSuccess(exit)
        ? Effect.void
        : Effect.map(
          isLate ? inTime(unfinished(before, began), before) : unfinished(before, began),
          (found) => left(isTaken(exit.cause) ? withoutAnswer(found) : found, !isLate)
        )
    ))
    return yield* timeout === undefined
      ? turn
      : Effect.raceFirst(turn, Effect.as(Effect.zipRight(Effect.sleep(timeout), Effect.sync(late)), undefined))
  })

const withoutAnswer = ({ sessionID, usage }: Unfinished): Unfinished => ({
  ...(sessionID === undefined ? {} : { sessionID }),
  text: "",
  usage
})

const isHeld = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "StorageError"
  && "reason" in error && error.reason === "held"

/** Whether another process has taken over the session. Its later messages belong to that process. */
const isTaken = <E>(cause: Cause.Cause<E>): boolean => Chunk.some(Cause.failures(cause), (error) => isHeld(error))

/** What a session has stored of a turn that began at this time. */
const unfinished = (before: SessionInfo, began: number): Effect.Effect<Unfinished, never, Backend> =>
  Effect.gen(function*() {
    const { sessions } = yield* Backend
    const { usage } = yield* sessions.get(before.id)
    const [newest] = (yield* sessions.messages(before.id, { newest: 1 })).items
    // Messages from before the turn are not searched.
    const found = newest === undefined || newest.info.time.created < began
      ? undefined
      : yield* lastMessage(sessions, before.id, ({ info }) => info.role === "assistant" || info.time.created < began)
    const last = found?.info.role === "assistant" && found.info.time.created >= began ? found : undefined
    const finish = last?.info.role === "assistant" ? last.info.finish : undefined
    return {
      sessionID: before.id,
      text: last === undefined ? "" : answerOf(last.parts),
      ...(finish === undefined ? {} : { finish }),
      usage: since(before.usage.subtree, usage.subtree)
    }
  }).pipe(
    // The database is gone or full, or the server is away. The end of the turn reports that already.
    Effect.catchAll(() => Effect.succeed({ ...nothing, sessionID: before.id }))
  )

/** Gives up soon, because an unreachable server would make it wait. */
const inTime = <R>(reading: Effect.Effect<Unfinished, never, R>, { id }: SessionInfo) =>
  Effect.map(
    Effect.timeoutOption(Effect.interruptible(Effect.disconnect(reading)), lastLook),
    Option.getOrElse((): Unfinished => ({ ...nothing, sessionID: id }))
  )

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

/**
 * Ends when the tree is idle, with the last turn of the session. If a crash left nothing, an agent whose turn did not
 * finish is asked to continue. For one that has answered, `note` says so.
 */
export const continueSession = Effect.fnUntraced(function*(
  before: SessionInfo,
  unattended: NewPrompt["unattended"],
  note: (line: string) => void
) {
  const { sessions } = yield* Backend
  yield* sessions.resume(before.id)
  const rested = yield* Effect.either(sessions.rest(before.id))
  if (before.id !== before.rootID) yield* Effect.exit(sessions.rest(before.rootID))
  const { turn } = yield* sessions.get(before.id)
  // A server that knows the session from before answers with the turn that had ended already.
  if (turn?.ended === undefined || turn.ended.at !== before.turn?.ended?.at) {
    const last = yield* rested
    if (last !== undefined) return yield* withUsage(last, before)
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
