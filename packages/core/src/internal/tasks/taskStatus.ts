/** The status of a task, in words that a model and a person can act on. */
import { reason, type TaskRun } from "@skein/domain/Outcome"
import { none } from "@skein/domain/Usage"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { SessionStorage } from "../../SessionStorage.ts"
import type { TaskStatus } from "../../TaskRequest.ts"
import type { Live } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"

const callsOf = (live: Live | undefined) =>
  (live?.messages ?? []).flatMap(({ parts }) => parts.flatMap((part) => part.type === "tool" ? [part] : []))

const doing = (run: TaskRun, live: Live | undefined): string => {
  const { outcome } = run
  if (outcome !== undefined) {
    return outcome.status === "completed" ? "completed" : `${outcome.status}: ${reason(outcome)}`
  }
  if (run.stop !== undefined) return `concludes, because it was stopped by ${run.stop.by}`
  if (live === undefined) return "waits for its turn"
  const { status } = live
  const asked = run.state === "queued" ? "waits for a free slot" : "waits to ask the model"
  if (live.clock.isAsking) return "waits for a person's answer"
  if (status.type === "queued") return `${asked}, queued at position ${status.position}`
  if (run.state === "queued") return "waits for its turn"
  if (status.type === "waiting") return status.message
  if (status.type === "compacting") return "summarises its conversation to save room"
  if (status.type === "retry") {
    const again = new Date(status.next).toISOString()
    return `tries the model again at ${again} (attempt ${status.attempt} failed): ${status.message}`
  }
  if (live.tasks.size > 0) return `waits for ${live.tasks.size} ${live.tasks.size === 1 ? "task" : "tasks"} of its own`
  const calls = callsOf(live).flatMap(({ state, tool }) =>
    state.status === "running" ? [state.title === undefined ? tool : `${tool} ${state.title}`] : []
  )
  return calls.length === 0 ? "waits for the model" : `runs ${calls.join(", ")}`
}

/** The status of a task from its newest run; `elapsed` is how long that has run here (ms). */
export const statusOf = Effect.fnUntraced(function*(run: TaskRun, now: number, elapsed: number | undefined) {
  const storage = yield* SessionStorage
  const live = (yield* SessionTable).peek(run.taskID)
  const info = live?.info ?? Option.getOrUndefined(yield* storage.session(run.taskID))
  const status: TaskStatus = {
    taskID: run.taskID,
    agent: run.agent,
    description: run.description,
    state: run.state,
    background: run.background,
    doing: doing(run, live),
    elapsedMs: elapsed ?? run.outcome?.durationMs ?? Math.max(0, now - run.time.created),
    lastTool: callsOf(live).at(-1)?.tool,
    usage: info?.usage.subtree ?? none,
    outcome: run.outcome
  }
  return status
})
