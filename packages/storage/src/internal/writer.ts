/** Owns all writing: commits wait in a queue, and one fiber makes whatever waits in one transaction. */
import { StorageError } from "@skein/core/StorageError"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import { identity } from "effect/Function"
import * as Mailbox from "effect/Mailbox"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { Op } from "./op.ts"
import type { Plan } from "./plan.ts"
import type { Result, Transaction } from "./transaction.ts"
import type { Turns } from "./turns.ts"

/** Makes a list of changes durable, all of them or none. Once it waits in the queue, interruption does not undo it. */
export type Commit = (ops: ReadonlyArray<Op>) => Effect.Effect<void, StorageError>

interface Waiting {
  readonly ops: ReadonlyArray<Op>
  readonly done: Deferred.Deferred<void, StorageError>
}

/** Commits that may wait; whoever comes next waits for a place. */
const capacity = 1_024

/** Rows of one transaction, unless a single commit has more: it bounds for how long the event loop stands still. */
const groupRows = 500

/** How long a lock of another process is waited for. */
const patience = Duration.seconds(30)

const whileLocked = Schedule.exponential(Duration.millis(5), 1.5).pipe(
  Schedule.union(Schedule.spaced(Duration.millis(100))),
  Schedule.jittered,
  Schedule.upTo(patience)
)

/** Tries again for as long as another process holds the lock, and lets everything else go on meanwhile. */
export const retryBusy = <A, R>(effect: Effect.Effect<A, StorageError, R>): Effect.Effect<A, StorageError, R> =>
  Effect.retry(effect, { schedule: whileLocked, while: (error) => error.reason === "busy" })

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

const closed = new StorageError({
  operation: "commit",
  reason: "other",
  message: "The storage was closed before this was stored: keep its layer open until everything that uses it has ended."
})

/** Starts the writer. When its scope closes, what waits is still made, and later commits are refused. */
export const makeWriter = (
  { plan, transaction, turns }: { readonly plan: Plan; readonly transaction: Transaction; readonly turns: Turns }
): Effect.Effect<Commit, never, Scope.Scope> =>
  Effect.gen(function*() {
    const queue = yield* Mailbox.make<Waiting>(capacity)

    const separately = (group: ReadonlyArray<Waiting>) =>
      retryBusy(turns.write(transaction.each(group.map(({ ops }) => plan(ops)))))

    const together = (group: ReadonlyArray<Waiting>): Effect.Effect<ReadonlyArray<Result>, StorageError> =>
      retryBusy(turns.write(Effect.suspend(() => transaction.all(plan(group.flatMap(({ ops }) => ops)))))).pipe(
        Effect.as(group.map(() => Either.void)),
        // One commit must not fail because another one, which happened to wait beside it, is refused.
        Effect.catchIf((error) => group.length > 1 && error.reason === "constraint", () => separately(group))
      )

    const make = (group: ReadonlyArray<Waiting>) =>
      together(group).pipe(
        Effect.catchAllCause((cause) =>
          Effect.succeed(
            group.map((): Result =>
              Either.left(Either.match(Cause.failureOrCause(cause), { onLeft: identity, onRight: unexpected }))
            )
          )
        ),
        Effect.flatMap((results) =>
          Effect.forEach(group, ({ done }, index) => Deferred.complete(done, results[index] ?? Either.void), {
            discard: true
          })
        )
      )

    const work: Effect.Effect<void> = Effect.flatMap(queue.takeAll, ([waiting, isDone]) =>
      Effect.zipRight(
        Effect.forEach(groupsOf(Chunk.toReadonlyArray(waiting)), make, { discard: true }),
        Effect.suspend(() => (isDone ? Effect.void : work))
      ))

    const fiber = yield* Effect.forkScoped(Effect.uninterruptible(work))
    yield* Effect.addFinalizer(() => Effect.zipRight(queue.end, Fiber.await(fiber)))

    return (ops) =>
      Effect.flatMap(Deferred.make<void, StorageError>(), (done) =>
        Effect.flatMap(
          queue.offer({ ops, done }),
          (accepted) => (accepted ? Deferred.await(done) : Effect.fail(closed))
        ))
  })

/** A defect must end the commits that it meets, not the writer that all others wait for. */
const unexpected = (cause: Cause.Cause<never>) =>
  new StorageError({
    operation: "commit",
    reason: "other",
    message: `The commit failed unexpectedly. ${Cause.pretty(cause)}`
  })
