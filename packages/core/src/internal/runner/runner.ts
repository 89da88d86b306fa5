/** Owns the fibers of the loops: starts one where there is something to answer, and stops a tree of them. */
import { Ids, type MessageID, type SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
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
import { type SessionStopped, stoppedBefore } from "../../SessionError.ts"
import { heldByAnother, type StorageError } from "../../StorageError.ts"
import type { PromptError, Turn } from "../../Turn.ts"
import { inSlices } from "../fairScheduler.ts"
import { failedToStore } from "../live/endings.ts"
import { halt } from "../live/halt.ts"
import { inProject } from "../live/inProject.ts"
import { type Live, pathOf } from "../live/Live.ts"
import type { Running } from "../live/RunState.ts"
import { setStatus } from "../live/setStatus.ts"
import { logUnstored } from "../logUnstored.ts"
import { turnEnded } from "../sessionHooks/turnHooks.ts"
import { renewSummary } from "../summary/makeSummary.ts"
import { spanNow, underSpan } from "../traced.ts"
import { runTurn } from "../turn/turn.ts"

/** Why a session gave no answer that something ended from outside: a stop, or another process that took the tree over. */
const cutOff = (
  { info: { id, rootID }, isLeaving }: Live,
  leases: Context.Tag.Service<Leases>
): StorageError | SessionStopped =>
  !isLeaving && leases.epoch(rootID) === 0 ? heldByAnother("prompt", { rootID }) : stopped(id)

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
 * Answers those whose prompt was part of the turn; a later prompt waits for a turn of its own, but not where nothing can be
 * stored.
 */
const answer = (live: Live, running: Running, exit: Exit.Exit<Turn, PromptError>): void => {
  const waiting = new Set(failedToStore(exit) ? [] : live.inbox.rows.map((row) => row.id))
  for (const [id, waiter] of running.waiters) {
    if (waiting.has(id)) continue
    running.waiters.delete(id)
    Deferred.unsafeDone(waiter, exit)
  }
}

/** Tells how a turn ended. A turn is over even where that could not be stored. */
const tell = Effect.fnUntraced(
  function*(live: Live, exit: Exit.Exit<Turn, PromptError>) {
    const journal = yield* Journal
    yield* setStatus(live, { type: "idle" })
    const now = yield* Clock.currentTimeMillis
    const failed = Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause)
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

/** How often in a row hooks may have a session go on. */
export const mostAgain = 8

/** What a session is prompted with because a hook wants it to go on. */
export const continueParts = (text: string): ReadonlyArray<PartInput> => [
  { type: "text", text: `A hook wants you to go on:\n\n${text}`, synthetic: true }
]

/** Prompts a session anew because a hook wants it to go on; whether that could be stored. */
const promptAgain = Effect.fnUntraced(
  function*(live: Live, text: string) {
    const journal = yield* Journal
    const ids = yield* Ids
    const row: InboxRow = {
      id: yield* ids.make("msg"),
      sessionID: live.info.id,
      kind: "prompt",
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
      (error) => Effect.as(Effect.logError("What a Stop hook wants could not be stored", error.message), false)
    )
)

/** Tells hooks that a turn has ended; whether another one begins because of that. */
const goesOn = Effect.fnUntraced(function*(live: Live, exit: Exit.Exit<Turn, PromptError>, again: number) {
  const wanted = yield* turnEnded(live, exit, again > 0)
  if (wanted === undefined || Exit.isFailure(exit)) return false
  if (again < mostAgain) return yield* promptAgain(live, wanted)
  yield* Effect.logWarning(`Stop hooks have had the session go on ${again} times in a row. It ends now.`)
  return false
})

/** Whether another turn begins. After the conclusion of a task only a prompt of its own does that. */
const wantsTurn = ({ assignment, inbox }: Live): boolean =>
  assignment.isConcluding ? inbox.rows.some(({ kind }) => kind === "prompt") : inbox.wantsAnswer

/** Turns until the inbox is empty, or until somebody stops them: what came too late then waits for the next prompt. */
const turns = (live: Live, running: Running) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const leases = yield* Leases
      for (let again = 0;;) {
        const exit = yield* Effect.exit(restore(live.run.slot.work(inProject(live, runTurn(live)))))
        const wasStopped = Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)
        live.run.turnEnded(wasStopped ? Exit.fail(cutOff(live, leases)) : exit)
        yield* tell(live, exit)
        yield* inProject(live, renewSummary(live, exit))
        const next = wasStopped ? undefined : yield* Effect.exit(restore(goesOn(live, exit, again)))
        again = next !== undefined && Exit.isSuccess(next) && next.value ? again + 1 : 0
        // A caller that waits for this turn waits for the one that continues it.
        if (!wasStopped && again === 0) answer(live, running, exit)
        if (wasStopped || failedToStore(exit) || !wantsTurn(live)) {
          // Nothing happens between this look at the inbox and the end: a prompt from now on starts a run of its own.
          live.run.end(running)
          return
        }
      }
    })
  )

/** What a loop needs. */
export type LoopServices = Effect.Effect.Context<ReturnType<typeof turns>> | Leases

/** Starts the loop. The run is there before its fiber is, so that there is never a second one. */
const start = (live: Live, waiters: Running["waiters"]) => {
  const running: Running = { slot: live.run.slot, fiber: Deferred.unsafeMake(noFiber), waiters, halted: false }
  live.run.begin(running)
  return Effect.flatMap(Leases, (leases) => {
    const done = leases.use(live.info.rootID)
    // A fiber inherits that its parent cannot be interrupted; the loop can.
    const named = Effect.annotateLogs(turns(live, running), { session: live.info.id, agent: pathOf(live).join("/") })
    return inSlices(Effect.forkIn(Effect.interruptible(named), live.scope)).pipe(
      Effect.flatMap((fiber) => {
        // Even if the scope closed before the fiber could begin: a loop that never runs must not be awaited.
        fiber.addObserver(() => {
          live.run.end(running)
          done()
          for (const each of running.waiters.values()) {
            Deferred.unsafeDone(each, Exit.fail(cutOff(live, leases)))
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
    live.running === undefined && live.inbox.wantsAnswer
      ? Effect.asVoid(underSpan(live.run.span, start(live, new Map())))
      : Effect.void
  )

/** Continues what a crash left of a session: the interrupted turn, and unread messages. */
export const continueTurn = (live: Live): Effect.Effect<void, never, LoopServices> =>
  Effect.suspend(() => {
    if (live.running !== undefined) return Effect.void
    if (live.hasOpenTurn) return Effect.asVoid(underSpan(live.run.span, start(live, new Map())))
    // News wakes nobody who was stopped; what somebody asked for after the stop does.
    const wasStopped = live.info.turn?.ended?.how === "stopped"
    return wasStopped && live.inbox.rows.every(({ kind }) => kind === "note" || kind === "notification")
      ? Effect.void
      : wake(live)
  })

/** Ends when nothing of a session goes on: no turn, and no task in the background. */
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

/** An abandoned prompt makes no session work, unless answering it has begun: it becomes a note. */
const withdraw = Effect.fnUntraced(
  function*(live: Live, id: MessageID) {
    const journal = yield* Journal
    const row = live.inbox.makeNote(id)
    if (row !== undefined) yield* journal.commit([{ _tag: "Inbox", row }])
  },
  (effect) => Effect.catchAll(effect, logUnstored("A prompt could not be withdrawn"))
)

/** A prompt whose session was stopped while it was being stored. */
export const withdrawn = (live: Live, row: InboxRow): Effect.Effect<never, SessionStopped, Journal> =>
  Effect.suspend(() => {
    live.inbox.push(row)
    return Effect.zipRight(withdraw(live, row.id), Effect.fail(stopped(live.info.id)))
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
 * Puts a stored row into the inbox, sees to it that a loop takes it, and waits for the answer. To be called where nothing
 * can come between the storing and this; `restore` makes the waiting interruptible again.
 */
export const submit = (
  live: Live,
  row: InboxRow,
  restore: Restore
): Effect.Effect<Turn, PromptError, LoopServices> =>
  Effect.suspend(() => {
    const { running } = live
    if (running?.halted === true) {
      return Effect.zipRight(
        Effect.flatMap(Deferred.await(running.fiber), Fiber.await),
        submit(live, row, restore)
      )
    }
    live.inbox.push(row)
    const waiter = Deferred.unsafeMake<Turn, PromptError>(noFiber)
    if (running === undefined) {
      const started = Effect.flatMap(spanNow, (span) => {
        live.run.useSpan(span)
        return start(live, new Map([[row.id, waiter]]))
      })
      return Effect.flatMap(started, (begun) => wait(live, row.id, begun, waiter, restore))
    }
    running.waiters.set(row.id, waiter)
    return wait(live, row.id, running, waiter, restore)
  })
