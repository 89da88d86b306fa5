/** Starts the run of a delegated task: from here on it ends as its outcome says, or when its fiber is interrupted. */
import { type TaskRequest, Tasks } from "@skein/core/Tasks"
import { outcomeText } from "@skein/core/TaskText"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { type Delegation, type Ended, makeDelegation } from "./Delegation.ts"
import { Refused, refusedBy } from "./Refused.ts"
import type { Root } from "./Root.ts"

/** A run, and the fiber that waits for its end. */
export interface Held {
  readonly delegation: Delegation
  readonly fiber: Fiber.RuntimeFiber<void>
}

const cancelled: Ended = { how: "cancelled" }

/** What ended a run that has no outcome: its client, or what the services say. */
const endOf = (cause: Cause.Cause<Refused>): Ended =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => cancelled,
    onSome: ({ message }) => ({ how: "settled", text: message, isError: true })
  })

/** Starts it, in a scope that ends with its client. */
export const startRun = Effect.fnUntraced(function*(request: TaskRequest, { connect }: Root, scope: Scope.Scope) {
  const tasks = yield* Tasks
  const started = yield* Deferred.make<Delegation, Refused>()
  const ended = yield* Deferred.make<Ended>()
  let delegation: Delegation | undefined
  // Nothing comes between fork and join, so that a run that has started is always waited for.
  const work = Effect.uninterruptible(Effect.gen(function*() {
    const run = yield* tasks.fork(request, {
      started: () => Effect.void,
      summary: (rows) => Effect.sync(() => delegation?.report(rows)),
      settled: () => Effect.void
    })
    const { runID: id, taskID } = run.accepted
    delegation = yield* makeDelegation({ id, taskID }, ended)
    connect(delegation)
    yield* Deferred.succeed(started, delegation)
    return yield* run.join
  })).pipe(
    Effect.flatMap((outcome) =>
      outcome.status === "accepted"
        ? Effect.dieMessage(`${outcome.taskID} was moved to the background`)
        : Effect.map(outcomeText(request.parentID, outcome), (text): Ended => ({
          how: "settled",
          text,
          isError: outcome.status !== "completed"
        }))
    ),
    Effect.mapError(refusedBy)
  )
  const fiber = yield* Effect.forkIn(
    // An interrupted run is reported as well.
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.exit(restore(work)), (exit) =>
        Effect.gen(function*() {
          if (Exit.isSuccess(exit)) return yield* Effect.asVoid(Deferred.succeed(ended, exit.value))
          if (Cause.isDie(exit.cause)) yield* Effect.logError("A delegated task failed", exit.cause)
          const end = endOf(exit.cause)
          const why = end.how === "settled" ? end.text : "The task was cancelled before it began."
          yield* Deferred.fail(started, new Refused({ message: why }))
          yield* Deferred.succeed(ended, end)
        }))
    ),
    scope
  )
  return { delegation: yield* Deferred.await(started), fiber } satisfies Held
})
