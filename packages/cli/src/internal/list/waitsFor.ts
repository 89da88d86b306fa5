/** Tells what a task that has not settled does or waits for, by what is stored: also where another process works on it. */
import { SessionStorage } from "@skein/core/SessionStorage"
import type { TaskRun } from "@skein/domain/Outcome"
import type { Part } from "@skein/domain/Part"
import * as Effect from "effect/Effect"

const named = ({ state, tool }: Extract<Part, { readonly type: "tool" }>): string =>
  "title" in state && state.title !== undefined ? `${tool} ${state.title}` : tool

const ofTasks = (ids: ReadonlyArray<string>): string =>
  `waits for ${ids.length} ${ids.length === 1 ? "task" : "tasks"} of its own: ${ids.join(", ")}`

const ofParts = (parts: ReadonlyArray<Part>, now: number): string => {
  const last = parts.at(-1)
  if (last?.type === "retry" && last.next > now) {
    return `tries the model again at ${
      new Date(last.next).toISOString()
    } (attempt ${last.attempt} failed): ${last.error.message}`
  }
  const calls = parts.flatMap((part) => part.type === "tool" ? [part] : [])
  const running = calls.filter(({ state }) => state.status === "running").map(named)
  if (running.length > 0) return `runs ${running.join(", ")}`
  // A call that nobody has to be asked about begins with the answer that it stands in.
  const pending = calls.filter(({ state }) => state.status === "pending").map(named)
  return pending.length > 0 ? `waits for a person to allow ${pending.join(", ")}` : "waits for the model"
}

/** In a few words, such as `waits for the model`. */
export const waitsFor = Effect.fnUntraced(function*({ state, taskID, time }: TaskRun, now: number) {
  const store = yield* SessionStorage
  if (state === "queued") return "waits for its turn"
  const below = (yield* store.runs({ parentID: taskID })).rows.filter((run) => run.state !== "settled")
  const { rows } = yield* store.messages(taskID)
  const parts = rows.filter(({ info }) =>
    info.role === "assistant" && info.time.created >= (time.started ?? time.created)
  )
    .at(-1)?.parts ?? []
  const others = parts.some((part) =>
    part.type === "tool" && part.tool !== "task" && part.state.status !== "completed"
    && part.state.status !== "error"
  )
  return below.length > 0 && !others ? ofTasks([...new Set(below.map((run) => run.taskID))]) : ofParts(parts, now)
})
