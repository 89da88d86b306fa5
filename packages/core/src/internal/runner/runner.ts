/** Owns the loop fibers: starts the loop of a session that has something to answer, and ends it. */
import { Ids, type MessageID, type SessionID } from "@skein/domain/Id"
import { type InboxRow, isInert } from "@skein/domain/InboxRow"
import type { PartInput } from "@skein/domain/Part"
import type { SessionTurn } from "@skein/domain/SessionInfo"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { none as noFiber } from "effect/FiberId"
import * as Option from "effect/Option"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import { failedToStore, logUnstored, type StorageError } from "../../StorageError.ts"
import { type PromptError, type SessionStopped, stoppedBefore, type Turn } from "../../Turn.ts"
import { inSlices } from "../fibers.ts"
import { noLongerWaiting } from "../live/Inbox.ts"
import { type Live, pathOf, setStatus } from "../live/Live.ts"
import type { Running } from "../live/RunState.ts"
import { inProject } from "../live/SessionTable.ts"
import { halt } from "../live/stop.ts"
import { turnEnded } from "../sessionHooks.ts"
import { renewSummary } from "../summary/makeSummary.ts"
import { spanNow, underSpan } from "../traced.ts"
import { runTurn } from "../turn/turn.ts"

/** The error of a turn that was interrupted: a stop, another process that took over the tree, or a storage that is away. */
const interruptedBy = (
  { info: { id, rootID }, isLeaving }: Live,
  leases: Context.Tag.Service<Leases>
): StorageError | SessionStopped => !isLeaving && leases.epoch(rootID) === 0 ? leases.failure(rootID) : stopped(id)

const stopped = (id: SessionID) => stoppedBefore(id, "it answered")

/** How a turn ended, as it is stored. */
const ended = (exit: Exit.Exit<Turn, PromptError>, at: number): NonNullable<SessionTurn["ended"]> => {
  if (Exit.isSuccess(exit)) return { at, how: exit.value.end }
  if (Cause.isInterruptedOnly(exit.cause)) return { at, how: "stopped" }
  const { message, tag } = errorInfo(exit.cause)
  const failure = Option.getOrUndefined(Cause.failureOption(exit.cause))
  const error = { tag: failure?._tag === "ModelError" ? failure.reason : tag, message }
  return { at, how: "failed", error, ...(failure?._tag === "BudgetExhausted" ? { which: failure.which } : {}) }
}

const errorInfo = (cause: Cause.Cause<PromptError>) => {
  const failure = Cause.squash(cause)
  if (!(failure instanceof Error)) return { tag: "defect", message: String(failure) }
  return { tag: "_tag" in failure ? String(failure._tag) : "defect", message: failure.message }
}

/**
 * Answers the callers whose prompt was part of the turn. Later prompts wait for the next turn, unless storage failed.
 */
const answer = (live: Live, running: Running, exit: Exit.Exit<Turn, PromptError>): void => {
  const waiting = new Set(failedToStore(exit) ? [] : live.inbox.rows.map((row) => row.id))
  for (const [id, waiter] of running.waiters) {
    if (waiting.has(id)) continue
    running.waiters.delete(id)
    Deferred.unsafeDone(waiter, exit)
  }
}

/** Stores and publishes how a turn ended. The turn is over even if that fails. */
const publishEnd = Effect.fnUntraced(
  function*(live: Live, exit: Exit.Exit<Turn, PromptError>) {
    const journal = yield* Journal
    yield* setStatus(live, { type: "idle" })
    const now = yield* Clock.currentTimeMillis
    const failed = Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause)
    if (failed && Option.isSome(Cause.dieOption(exit.cause))) {
      yield* Effect.logError(`A defect ended a turn of ${live.info.id}`, exit.cause)
    }
    const { turn } = live.info
    const over = turn === undefined ? [] : [live.record.change(now, { turn: { ...turn, ended: ended(exit, now) } })]
    yield* journal.commit([
      ...over,
      ...(failed ? [journal.fact(live.info, "session.error", { error: errorInfo(exit.cause) })] : []),
      journal.fact(live.info, "session.idle", {})
    ])
  },
  (effect) => Effect.catchAll(effect, logUnstored("The end of a turn could not be stored"))
)

/** How often in a row hooks may continue a session. */
export const maxHookContinuations = 8

/** The prompt with which a hook continues a session. */
export const continueParts = (text: string): ReadonlyArray<PartInput> => [
  { type: "text", text: `A hook wants you to continue:\n\n${text}`, synthetic: true }
]

/** Prompts a session again because a hook wants it to continue; returns whether the prompt could be stored. */
const promptAgain = Effect.fnUntraced(
  function*(live: Live, text: string) {
    const journal = yield* Journal
    const ids = yield* Ids
    const row: InboxRow = {
      id: yield* ids.make("msg"),
      sessionID: live.info.id,
      kind: "prompt",
      from: "agent",
      ...live.stamp("prompt"),
      parts: continueParts(text),
      time: { created: yield* Clock.currentTimeMillis }
    }
    yield* journal.commit([{ _tag: "Inbox", row }])
    live.inbox.push(row)
    return true
  },
  (effect) =>
    Effect.catchAll(
      effect,
      (error) => Effect.as(Effect.logError("The prompt of a Stop hook could not be stored", error.message), false)
    )
)

/** Runs the hooks after a turn; returns whether one of them starts another turn. */
const continuedByHook = Effect.fnUntraced(function*(live: Live, exit: Exit.Exit<Turn, PromptError>, again: number) {
  const reason = yield* turnEnded(live, exit, again > 0)
  if (reason === undefined || Exit.isFailure(exit)) return false
  if (again < maxHookContinuations) return yield* promptAgain(live, reason)
  yield* Effect.logWarning(`Stop hooks continued the session ${again} times in a row. It ends now.`)
  return false
})

/** Whether another turn begins. After a task has concluded, only a prompt starts one. */
const wantsTurn = ({ assignment, inbox }: Live): boolean =>
  assignment.isConcluding ? inbox.rows.some(({ kind }) => kind === "prompt") : inbox.wantsAnswer

/** Runs turns until the inbox is empty, or until the session is stopped: later rows then wait for the next prompt. */
const runTurns = (live: Live, running: Running) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const leases = yield* Leases
      for (let again = 0;;) {
        const exit = yield* Effect.exit(restore(live.run.slot.work(inProject(live, runTurn(live)))))
        const wasStopped = Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)
        live.run.lastTurn = wasStopped ? Exit.fail(interruptedBy(live, leases)) : exit
        yield* publishEnd(live, exit)
        yield* inProject(live, renewSummary(live, exit))
        const next = wasStopped ? undefined : yield* Effect.exit(restore(continuedByHook(live, exit, again)))
        again = next !== undefined && Exit.isSuccess(next) && next.value ? again + 1 : 0
        // A caller that waits for this turn waits for the one that continues it.
        if (!wasStopped && again === 0) answer(live, running, exit)
        if (wasStopped || failedToStore(exit) || !wantsTurn(live)) {
          // Atomic with the inbox check above: later prompts start a new run.
          live.run.end(running)
          return
        }
      }
    })
  )

/** The services of a loop. */
export type LoopServices = Effect.Effect.Context<ReturnType<typeof runTurns>> | Leases

/** Starts the loop. The run is set before its fiber exists, so that there is never a second one. */
const start = (live: Live, waiters: Running["waiters"]) => {
  const running: Running = { slot: live.run.slot, fiber: Deferred.unsafeMake(noFiber), waiters, stops: live.stops.all }
  live.run.running = running
  return Effect.flatMap(Leases, (leases) => {
    const done = leases.use(live.info.rootID)
    // A fiber inherits uninterruptibility from its parent, and the loop must be interruptible.
    const named = Effect.annotateLogs(runTurns(live, running), { session: live.info.id, agent: pathOf(live).join("/") })
    return inSlices(Effect.forkIn(Effect.interruptible(named), live.scope)).pipe(
      Effect.flatMap((fiber) => {
        // Even if the scope closed before the fiber could begin: a loop that never runs must not be awaited.
        fiber.addObserver(() => {
          live.run.end(running)
          done()
          for (const each of running.waiters.values()) {
            Deferred.unsafeDone(each, Exit.fail(interruptedBy(live, leases)))
          }
          running.waiters.clear()
        })
        return Deferred.succeed(running.fiber, fiber)
      }),
      Effect.as(running)
    )
  })
}

/** Starts the loop for what is in the inbox, without waiting for the answer; a running loop checks the inbox itself. */
export const wake = (live: Live): Effect.Effect<void, never, LoopServices> =>
  Effect.suspend(() =>
    live.running === undefined && live.inbox.startsLoop
      ? Effect.asVoid(underSpan(live.run.span, start(live, new Map())))
      : Effect.void
  )

/** Continues what a crash left of a session: the interrupted turn, and unread messages. */
export const continueTurn = (live: Live): Effect.Effect<void, never, LoopServices> =>
  Effect.suspend(() => {
    if (live.running !== undefined) return Effect.void
    return live.hasOpenTurn || live.inbox.rows.some((row) => live.startsLoop(row))
      ? Effect.asVoid(underSpan(live.run.span, start(live, new Map())))
      : Effect.void
  })

/** Waits until the session is idle: no turn and no background task is running. */
export const atRest = (live: Live): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { running } = live
    if (running !== undefined) {
      return Effect.zipRight(Effect.flatMap(Deferred.await(running.fiber), Fiber.await), atRest(live))
    }
    for (const task of live.tasks.running) {
      if (task.row.background) return Effect.zipRight(Effect.exit(Deferred.await(task.ended)), atRest(live))
    }
    return Effect.void
  })

/** Turns an abandoned prompt into a note, unless answering it has begun. */
const withdraw = Effect.fnUntraced(
  function*(live: Live, id: MessageID) {
    const journal = yield* Journal
    const row = live.inbox.makeNote(id)
    if (row !== undefined) {
      yield* journal.commit([{ _tag: "Inbox", row }, ...noLongerWaiting(journal, live, [id])], live.info)
    }
  },
  (effect) => Effect.catchAll(effect, logUnstored("A prompt could not be withdrawn"))
)

/** Keeps a prompt as a note, because its session was stopped while the prompt was being stored. */
export const withdrawn = (live: Live, row: InboxRow): Effect.Effect<never, SessionStopped, Journal> =>
  Effect.suspend(() => {
    live.inbox.push(row)
    const kept = row.kind === "note" ? Effect.void : withdraw(live, row.id)
    return Effect.zipRight(kept, Effect.fail(stopped(live.info.id)))
  })

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Waits for the answer. If the last waiting caller is interrupted, so is the session, even if the caller was
 * interrupted before it began to wait.
 */
const wait = (
  live: Live,
  id: MessageID,
  running: Running,
  waiter: Deferred.Deferred<Turn, PromptError>,
  restore: Restore
) =>
  Effect.onInterrupt(restore(Deferred.await(waiter)), () =>
    Effect.suspend(() => {
      running.waiters.delete(id)
      const isLast = running.waiters.size === 0 && live.running === running
      return Effect.zipRight(isLast ? halt(live) : Effect.void, withdraw(live, id))
    }))

/**
 * Puts a stored row into the inbox, makes sure that a loop takes it, and waits for the answer. If the session was stopped
 * more than `stops` times by then, the row stays as a note. Call it uninterruptibly right after storing the row; `restore`
 * makes the waiting interruptible again. `submitted` is called once a loop has it.
 */
export const submit = (
  live: Live,
  row: InboxRow,
  restore: Restore,
  stops: number,
  submitted: () => void
): Effect.Effect<Turn, PromptError, LoopServices> =>
  Effect.flatMap(spanNow, (span) => {
    // In one step with the start of the loop: a stop that arrives later finds the loop.
    if (live.run.stops !== stops) return withdrawn(live, row)
    const { running } = live
    if (running !== undefined && isInert(running, live.stops.all)) {
      return Effect.zipRight(
        Effect.flatMap(Deferred.await(running.fiber), Fiber.await),
        submit(live, row, restore, stops, submitted)
      )
    }
    live.inbox.push(row)
    submitted()
    const waiter = Deferred.unsafeMake<Turn, PromptError>(noFiber)
    if (running === undefined) {
      live.run.span = span
      return Effect.flatMap(
        start(live, new Map([[row.id, waiter]])),
        (begun) => wait(live, row.id, begun, waiter, restore)
      )
    }
    running.waiters.set(row.id, waiter)
    return wait(live, row.id, running, waiter, restore)
  })
