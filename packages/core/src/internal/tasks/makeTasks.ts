/** The service of tasks: each request has one outcome, which is stored and delivered once. */
import type { PartID, SessionID } from "@skein/domain/Id"
import type { Outcome, TaskRun } from "@skein/domain/Outcome"
import * as Effect from "effect/Effect"
import type { StorageError } from "../../StorageError.ts"
import { type Accepted, type StartedTask, type TaskProgress, TaskRefused, type TaskRequest } from "../../TaskRequest.ts"
import { providing } from "../fibers.ts"
import type { Live, RunningTask } from "../live/Live.ts"
import { servicesForLater } from "../traced.ts"
import { checkTask, inTree } from "./checkTask.ts"
import { makeControl } from "./control.ts"
import { continueRun, runOfCall } from "./recover.ts"
import { Recovery } from "./Recovery.ts"
import { acceptedOf, awaitEnd, joinRun, startRun, type TaskServices } from "./startRun.ts"

/** Makes the service. */
export const makeTasks = Effect.gen(function*() {
  const context = yield* servicesForLater<TaskServices>()
  const provided = providing(context)
  const recovery = yield* Recovery
  const recover = (parent: Live) =>
    Effect.catchTag(
      Effect.interruptible(recovery.recover(parent)),
      "ModelUnavailable",
      ({ message }) => new TaskRefused({ reason: "bad_model", message })
    )

  const started = (task: RunningTask, progress: TaskProgress | undefined): StartedTask => ({
    accepted: acceptedOf(task),
    join: Effect.suspend(() => joinRun(task, progress)),
    onEnd: (ring) => awaitEnd(task, ring)
  })

  const fork = (
    request: TaskRequest,
    progress?: TaskProgress
  ): Effect.Effect<StartedTask, TaskRefused | StorageError> =>
    inTree(request.parentID, (parent) =>
      recover(parent).pipe(
        Effect.zipRight(startRun(request, progress)),
        Effect.map((task) => started(task, progress))
      )).pipe(Effect.uninterruptible, provided)

  /** There is nothing to wait for. */
  const known = (accepted: Accepted, end: Outcome | Accepted = accepted): StartedTask => ({
    accepted,
    join: Effect.succeed(end),
    onEnd: (ring) => ring()
  })

  const reattach = (row: TaskRun, progress: TaskProgress): Effect.Effect<StartedTask, TaskRefused | StorageError> => {
    const accepted = acceptedOf({ row })
    const ended = (outcome: Outcome) => Effect.as(progress.settled(outcome), known(accepted, outcome))
    if (row.background) return Effect.succeed(known(accepted))
    if (row.outcome !== undefined) return ended(row.outcome)
    return Effect.flatMap(
      continueRun(row, progress),
      (found) => "live" in found ? Effect.succeed(started(found, progress)) : ended(found)
    ).pipe(Effect.uninterruptible, provided)
  }

  return {
    check: (request: Omit<TaskRequest, "partID" | "timeout">) =>
      provided(inTree(request.parentID, () => Effect.asVoid(checkTask(request)))),
    fork,
    run: (request: TaskRequest, progress?: TaskProgress) =>
      Effect.uninterruptible(Effect.flatMap(fork(request, progress), ({ join }) => join)),
    ofCall: (parentID: SessionID, partID: PartID) => provided(runOfCall(parentID, partID)),
    reattach,
    ...makeControl(context, recover)
  }
})
