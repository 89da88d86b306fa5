/** A run of a task with its span and its metrics. */
import type { Outcome } from "@skein/domain/Outcome"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { countRun } from "../../Metrics.ts"
import type { RunningTask } from "../live/Live.ts"
import { sessionAttributes, usageAttributes } from "../live/spanAttributes.ts"
import { traced } from "../traced.ts"

/** Outcomes that are not failures, because they were requested. */
const succeeded = new Set<Outcome["status"]>(["completed", "stopped"])

/** Works on a run with span and metrics; its span and its log lines name it. */
export const observedRun = <E, R>(
  task: RunningTask,
  work: Effect.Effect<Outcome, E, R>
): Effect.Effect<Outcome, E, R> =>
  traced(
    "Task.run",
    () => ({
      "gen_ai.operation.name": "invoke_agent",
      ...sessionAttributes(task.live),
      "skein.run.id": task.row.id,
      "skein.caller.id": task.row.parentID
    }),
    Effect.tap(work, ({ durationMs, status }) => Effect.sync(() => countRun(task.row.agent, status, durationMs))),
    (exit) =>
      Exit.isSuccess(exit)
        ? {
          outcome: exit.value.status,
          failed: !succeeded.has(exit.value.status),
          attributes: { ...usageAttributes(exit.value.usage), "skein.background": task.row.background }
        }
        : undefined
  ).pipe(Effect.annotateLogs({ task: task.row.taskID, run: task.row.id }))
