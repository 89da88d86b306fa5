/** The service of tasks: each request has one outcome, which is stored and delivered once. */
import type { PartID, SessionID } from "@skein/domain/Id"
import type { Outcome } from "@skein/domain/Outcome"
import * as Effect from "effect/Effect"
import type { StorageError } from "../../StorageError.ts"
import { type Accepted, type StartedTask, type TaskProgress, TaskRefused, type TaskRequest } from "../../TaskRequest.ts"
import { providing } from "../fibers.ts"
import type { Live } from "../live/Live.ts"
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

  const fork = (
    request: TaskRequest,
    progress?: TaskProgress
  ): Effect.Effect<StartedTask, TaskRefused | StorageError> =>
    inTree(request.parentID, (parent) =>
      recover(parent).pipe(
        Effect.zipRight(startRun(request, progress)),
        Effect.map((task) => ({
          accepted: acceptedOf(task),
          join: Effect.suspend(() => joinRun(task, progress)),
          onEnd: (ring: () => void) => awaitEnd(task, ring)
        }))
      )).pipe(Effect.uninterruptible, provided)

  const run = (request: TaskRequest, progress?: TaskProgress) =>
    Effect.uninterruptible(Effect.flatMap(
      fork(request, progress),
      (task): Effect.Effect<Outcome | Accepted, StorageError> =>
        request.background === true ? Effect.succeed(task.accepted) : task.join
    ))

  /** The run that a call had requested in another process; nothing if the call did not get that far. */
  const reattach = (parentID: SessionID, partID: PartID, progress: TaskProgress) =>
    Effect.uninterruptible(
      Effect.gen(function*() {
        const row = yield* runOfCall(parentID, partID)
        if (row === undefined) return undefined
        if (row.background) return { status: "accepted", taskID: row.taskID, runID: row.id } satisfies Accepted
        if (row.outcome !== undefined) return yield* Effect.as(progress.settled(row.outcome), row.outcome)
        const found = yield* continueRun(row, progress)
        return "live" in found ? yield* joinRun(found, progress) : yield* Effect.as(progress.settled(found), found)
      })
    )

  return {
    check: (request: Omit<TaskRequest, "partID" | "timeout">) =>
      provided(inTree(request.parentID, () => Effect.asVoid(checkTask(request)))),
    fork,
    run,
    reattach: (
      parentID: SessionID,
      partID: PartID,
      progress: TaskProgress
    ): Effect.Effect<Outcome | Accepted | undefined, TaskRefused | StorageError> =>
      provided(reattach(parentID, partID, progress)),
    ...makeControl(context, recover)
  }
})
