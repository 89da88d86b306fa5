/** Owns what one call of the task tool reports: its progress, and its outcome in words. */
import type { Outcome } from "@skein/domain/Outcome"
import * as Effect from "effect/Effect"
import { Spill } from "../../Spill.ts"
import type { Accepted, TaskProgress, TaskRequest } from "../../TaskRequest.ts"
import { type ToolContext, ToolError, type ToolResult } from "../../Tool.ts"
import { acceptedText, outcomeText } from "../tasks/taskTexts.ts"

/** One call, and its outcome. */
export interface TaskCall {
  /** The progress reports of the run. */
  readonly progress: TaskProgress
  /** Wraps the outcome of the run: a conclusion is a result, anything else an error that says how it ended. */
  readonly result: (end: Outcome | Accepted) => Effect.Effect<ToolResult, ToolError>
}

/** Starts the reports of a call. */
export const makeTaskCall = (request: TaskRequest, context: ToolContext): Effect.Effect<TaskCall, never, Spill> =>
  Effect.map(Spill, (spill) => {
    const { agent, background = false, description } = request
    const metadata: Record<string, unknown> = {
      parentSessionId: context.sessionID,
      agent,
      background,
      status: "accepted",
      summary: []
    }
    let text = ""
    const report = (more: Record<string, unknown>) => {
      Object.assign(metadata, more)
      return context.report({ title: description, metadata: { ...metadata } })
    }
    /** The outcome is put into words before the run ends, so that an interrupted call reports it as well. */
    const settled = (end: Outcome) =>
      Effect.gen(function*() {
        text = yield* outcomeText(context.sessionID, end)
        Object.assign(metadata, { status: end.status, durationMs: end.durationMs, usage: end.usage })
        yield* context.ifCutOff(new ToolError({ kind: "task", message: text, metadata }))
        yield* context.tells([end.runID])
      })
    return {
      progress: {
        started: ({ model, runID, taskID }) =>
          report({ sessionId: taskID, runId: runID, model: model ?? context.model }),
        summary: (summary) => report({ summary }),
        settled: (outcome) => Effect.provideService(settled(outcome), Spill, spill)
      },
      result: (end) => {
        Object.assign(metadata, { sessionId: end.taskID, runId: end.runID })
        if (end.status === "accepted") {
          metadata["background"] = true
          const output = acceptedText({ agent, description, taskID: end.taskID })
          return Effect.succeed({ title: description, output, metadata })
        }
        return end.status === "completed"
          ? Effect.succeed({ title: description, output: text, metadata })
          : Effect.fail(new ToolError({ kind: "task", message: text, metadata }))
      }
    }
  })
