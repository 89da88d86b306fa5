/** The service of tasks: each request comes to one outcome, which is stored and told once. */
import type { PartID, SessionID } from "@skein/domain/Id"
import type { Outcome } from "@skein/domain/Outcome"
import * as Effect from "effect/Effect"
import type { StorageError } from "../../StorageError.ts"
import type { TaskRefused } from "../../TaskError.ts"
import type { Accepted, TaskProgress, TaskRequest } from "../../TaskRequest.ts"
import type { RunningTask } from "../live/Live.ts"
import { servicesForLater } from "../traced.ts"
import { checkTask, inTree } from "./checkTask.ts"
import { makeControl, receive } from "./control.ts"
import { inboxPoller } from "./inboxPoller.ts"
import { continueRun, runOfCall } from "./recover.ts"
import { Recovery } from "./Recovery.ts"
import { joinRun, startRun } from "./startRun.ts"
import type { TaskServices } from "./TaskServices.ts"

const acceptedOf = ({ row }: RunningTask): Accepted => ({ status: "accepted", taskID: row.taskID, runID: row.id })

/** Makes the service. */
export const makeTasks = Effect.gen(function*() {
  const context = yield* servicesForLater<TaskServices>()
  const recovery = yield* Recovery

  const run = (request: TaskRequest, progress?: TaskProgress) =>
    inTree(request.parentID, (parent) =>
      Effect.uninterruptibleMask((restore) =>
        recovery.recover(parent).pipe(
          Effect.zipRight(startRun(request, progress)),
          Effect.flatMap((task) =>
            request.background === true ? Effect.succeed(acceptedOf(task)) : joinRun(task, restore, progress)
          )
        )
      ))

  /** The run that a call had asked for in another process; nothing where the call had not come so far. */
  const reattach = (parentID: SessionID, partID: PartID, progress: TaskProgress) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const row = yield* runOfCall(parentID, partID)
        if (row === undefined) return undefined
        if (row.background) return { status: "accepted", taskID: row.taskID, runID: row.id } satisfies Accepted
        if (row.outcome !== undefined) return yield* Effect.as(progress.settled(row.outcome), row.outcome)
        return yield* joinRun(yield* continueRun(row, progress), restore, progress)
      })
    )

  yield* inboxPoller((row) => Effect.provide(receive(row), context))

  return {
    check: (request: Omit<TaskRequest, "partID" | "timeout">) =>
      Effect.provide(inTree(request.parentID, () => Effect.asVoid(checkTask(request))), context),
    run: (
      request: TaskRequest,
      progress?: TaskProgress
    ): Effect.Effect<Outcome | Accepted, TaskRefused | StorageError> => Effect.provide(run(request, progress), context),
    reattach: (
      parentID: SessionID,
      partID: PartID,
      progress: TaskProgress
    ): Effect.Effect<Outcome | Accepted | undefined, TaskRefused | StorageError> =>
      Effect.provide(reattach(parentID, partID, progress), context),
    ...makeControl(context)
  }
})
