/** Owns all writing: commits wait in a queue, and one fiber stores whatever waits in one transaction. */
import { elapsed } from "@skein/core/MonotonicClock"
import { isOutage, StorageError } from "@skein/core/StorageError"
import type { Places } from "@skein/core/StorageFilter"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { isRenewal, type Op } from "./op.ts"
import type { Plan } from "./plan.ts"
import { isRefusal, type Transaction } from "./transaction.ts"

/**
 * Makes a list of changes durable, all of them or none. Once it is queued, interruption does not undo it. `onStored` is
 * called with its places once it is durable, in the order of the commits.
 */
export type Commit = (
  ops: ReadonlyArray<Op>,
  onStored?: (places: Places) => void
) => Effect.Effect<Places, StorageError>

/** The result of a commit without events. */
export const noPlaces: Places = new Map()

interface Waiting {
  readonly ops: ReadonlyArray<Op>
  /** When it was requested (ms). */
  readonly since: number
  readonly onStored: ((places: Places) => void) | undefined
  readonly resume: (result: Effect.Effect<Places, StorageError>) => void
}

/** The maximum number of queued commits. The next caller waits for room. */
const capacity = 1_024

/**
 * The maximum rows per transaction, unless a single commit has more, which limits how long the event loop is blocked.
 */
const groupRows = 500

/** How long to wait for what passes, such as a lock of another process, in milliseconds. */
const lockTimeout = 30_000

/** How long to try at least what has waited that long already, in milliseconds: it may have waited for other commits. */
const leastTimeout = 5_000

/** The retry schedule while a lock, a restarting server or a full disk is in the way. */
const whileBusy = Schedule.exponential(Duration.millis(5), 1.5).pipe(
  Schedule.union(Schedule.spaced(Duration.millis(100))),
  Schedule.jittered
)

const retryWhile = (isPassing: (error: StorageError) => boolean) =>
<A, R>(
  effect: Effect.Effect<A, StorageError, R>,
  since?: number
): Effect.Effect<A, StorageError, R> =>
  // Few fail, and a schedule costs more than all else here.
  Effect.catchIf(effect, isPassing, (first) =>
    Effect.clockWith((clock) => {
      const now = elapsed(clock)
      const end = Math.max((since ?? now) + lockTimeout, now + leastTimeout)
      let failed: StorageError | undefined = first
      const again = Effect.suspend(() => {
        const known = failed
        failed = undefined
        return known ?? effect
      })
      return Effect.retry(again, {
        schedule: whileBusy,
        while: (error) => isPassing(error) && elapsed(clock) < end
      })
    }))

/** Retries while another process holds the lock, or the server restarts; other fibers run meanwhile. */
export const retryBusy = retryWhile(({ reason }) => reason === "busy")

/**
 * The same for work in an open database, which also waits for space and for the right to write: somebody frees some, or mounts
 * the disk again. One that cannot even be opened is reported at once.
 */
export const retryOutage = retryWhile(isOutage)

/** When the first of them was requested: what waited behind commits that failed does not wait as long once more. */
const oldest = (group: ReadonlyArray<Waiting>): number =>
  group.reduce((earliest, { since }) => Math.min(earliest, since), Infinity)

const groupsOf = (waiting: ReadonlyArray<Waiting>): ReadonlyArray<ReadonlyArray<Waiting>> => {
  const groups: Array<Array<Waiting>> = []
  let rows = groupRows
  for (const each of waiting) {
    rows += each.ops.length
    if (rows > groupRows) {
      groups.push([])
      rows = each.ops.length
    }
    groups.at(-1)?.push(each)
  }
  return groups
}

const closed = () =>
  new StorageError({
    operation: "commit",
    reason: "other",
    message:
      "The storage was closed before this was stored: keep its layer open until everything that uses it has ended."
  })

const noJson = (cause: unknown) =>
  new StorageError({
    operation: "commit",
    reason: "constraint",
    message: `A value has no JSON and cannot be stored (${
      String(cause)
    }). Keep functions, big integers and cycles out of it.`
  })

/** The result of a commit that shared its transaction with others. */
type Result = Either.Either<Places, StorageError>

/** Starts the writer. When its scope closes, queued commits are still stored, and later ones are refused. */
export const makeWriter = ({ flush, plan, rewrite, transaction }: {
  readonly plan: Plan
  readonly transaction: Transaction
  /** Makes commits durable; the next group gathers meanwhile. */
  readonly flush: Effect.Effect<void, StorageError>
  /** Writes anew what a failed flush may have dropped. */
  readonly rewrite: Effect.Effect<void, StorageError>
}): Effect.Effect<Commit, never, Scope.Scope> =>
  Effect.gen(function*() {
    const clock = yield* Effect.clock
    let waiting: Array<Waiting> = []
    /** Renewals of leases, which go before all other commits. */
    let urgent: Array<Waiting> = []
    let isClosed = false
    /** Wakes the fiber below; undefined while it works. */
    let wake: (() => void) | undefined
    const room = yield* Effect.makeLatch(true)

    const commit: Commit = (ops, onStored) => {
      if (isClosed) return Effect.fail(closed())
      const isUrgent = isRenewal(ops)
      if (!isUrgent && waiting.length >= capacity) {
        return Effect.zipRight(room.await, Effect.suspend(() => commit(ops, onStored)))
      }
      return Effect.async<Places, StorageError>((resume) => {
        const queue = isUrgent ? urgent : waiting
        queue.push({ ops, since: elapsed(clock), onStored, resume })
        wake?.()
        if (waiting.length >= capacity) room.unsafeClose()
      })
    }

    const stored = (ops: ReadonlyArray<Op>, since: number): Effect.Effect<Places, StorageError> => {
      const planned = Either.try({ try: () => plan(ops), catch: noJson })
      return Either.isLeft(planned) ? Effect.fail(planned.left) : retryOutage(transaction(planned.right), since)
    }
    /** One commit must not fail because another one in the same group cannot be encoded or is refused. */
    const separately = (group: ReadonlyArray<Waiting>): Effect.Effect<ReadonlyArray<Result>> => {
      let fault: Result | undefined
      return Effect.forEach(group, ({ ops, since }) =>
        Effect.suspend(() =>
          fault === undefined
            ? Effect.map(Effect.either(stored(ops, since)), (result) => {
              // What ails the database ails it for all that follow.
              if (Either.isLeft(result) && !isRefusal(result.left)) fault = result
              return result
            })
            : Effect.succeed(fault)
        ))
    }
    // The transaction is not repeated: it is committed, and others may have read it.
    const flushed = (since: number) =>
      Effect.catchIf(flush, isOutage, () => retryOutage(Effect.zipRight(rewrite, flush), since))
    const told = ({ onStored, resume }: Waiting, result: Result) => {
      // The writer must survive an error of a caller.
      const notified = Either.isLeft(result) || onStored === undefined
        ? Either.void
        : Either.try(() => onStored(result.right))
      resume(Either.isLeft(notified) ? Effect.die(notified.left) : result)
    }
    const tellAll = (group: ReadonlyArray<Waiting>, results: ReadonlyArray<Result>) => {
      for (const [index, each] of group.entries()) told(each, results[index] ?? Either.right(noPlaces))
    }
    const failAll = (group: ReadonlyArray<Waiting>) => (cause: Cause.Cause<StorageError>): Effect.Effect<void> =>
      Effect.sync(() => tellAll(group, group.map(() => Either.left(failure(cause)))))
    const make = (group: ReadonlyArray<Waiting>): Effect.Effect<void> => {
      const since = oldest(group)
      const end = (results: ReadonlyArray<Result>) =>
        Effect.matchCauseEffect(flushed(since), {
          onFailure: failAll(group),
          onSuccess: () => Effect.sync(() => tellAll(group, results))
        })
      return Effect.matchCauseEffect(stored(group.flatMap(({ ops }) => ops), since), {
        onFailure: (cause) =>
          group.length > 1 && Option.exists(Cause.failureOption(cause), isRefusal)
            ? Effect.flatMap(separately(group), end)
            : failAll(group)(cause),
        onSuccess: (places) => end(group.map(() => Either.right(places)))
      })
    }

    const work = Effect.async<void>((resume) => {
      wake = () => {
        wake = undefined
        resume(Effect.void)
      }
    })
    const loop = Effect.gen(function*() {
      for (;;) {
        const taken = waiting
        waiting = []
        room.unsafeOpen()
        // Also after the last group: a renewal may have come meanwhile.
        for (const group of [...groupsOf(taken), []]) {
          const renewals = urgent
          urgent = []
          if (renewals.length > 0) yield* make(renewals)
          if (group.length > 0) yield* make(group)
        }
        if (waiting.length + urgent.length > 0) continue
        // After the last commit, the loop continues until the queue is empty.
        if (isClosed) return
        yield* work
      }
    })

    // No other fiber may run in the middle of a transaction without waits: it would read what is not committed.
    const fiber = yield* Effect.forkScoped(Effect.withMaxOpsBeforeYield(Effect.uninterruptible(loop), Infinity))
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        isClosed = true
        room.unsafeOpen()
        wake?.()
        return Fiber.await(fiber)
      })
    )
    return commit
  })

/** A defect must fail the commits of its group, not the writer that all others need. */
const failure = (cause: Cause.Cause<StorageError>): StorageError =>
  Option.getOrElse(Cause.failureOption(cause), () =>
    new StorageError({
      operation: "commit",
      reason: "constraint",
      message: `The commit failed unexpectedly. ${Cause.pretty(cause)}`
    }))
