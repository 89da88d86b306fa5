/**
 * Says what an unsettled task does or waits for. It reads the storage, so this works if another process runs the task.
 */
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import { messagesPage } from "@skein/core/StorageFilter"
import { formatAmount } from "@skein/domain/Budget"
import type { SessionID } from "@skein/domain/Id"
import type { TaskRun } from "@skein/domain/Outcome"
import type { Part } from "@skein/domain/Part"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

const waitsForModel = "waits for the model"

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
  // A call that needs no answer from a person is stored with the model's answer.
  const pending = calls.filter(({ state }) => state.status === "pending").map(named)
  return pending.length > 0 ? `waits for a person to allow ${pending.join(", ")}` : waitsForModel
}

/** The limits that model requests wait for. */
const requested = ["tokens", "usd", "steps"] as const

/**
 * The budgets that apply to a session, the nearest first, such as `16000 of 20000 tokens are used by ses_1 and all
 * below it`.
 */
const budgetsOf = (id: SessionID): Effect.Effect<ReadonlyArray<string>, StorageError, SessionStorage> =>
  Effect.gen(function*() {
    const store = yield* SessionStorage
    const session = Option.getOrUndefined(yield* store.session(id))
    if (session === undefined) return []
    const { budget, parentID } = session
    const above = parentID === undefined ? [] : yield* budgetsOf(parentID)
    const own = requested.flatMap((bound) => {
      const limit = budget?.limit[bound]
      return budget === undefined || limit === undefined
        ? []
        : [`${budget.spent[bound]} of ${formatAmount(bound, limit)} are used by ${id} and all below it`]
    })
    return [...own, ...above]
  })

/**
 * Otherwise a task waits for the model. If it has a budget, its request may also wait for what others have reserved.
 */
const orForBudget = Effect.fnUntraced(function*(taskID: SessionID, doing: string) {
  if (doing !== waitsForModel) return doing
  const budgets = yield* budgetsOf(taskID)
  return budgets.length === 0 ? doing : `${doing}, or for budget that others have reserved: ${budgets.join("; ")}`
})

/** The answer that an agent works on is among so many of its newest messages. */
const few = 20

/** In a few words, such as `waits for the model`. */
export const waitsFor = Effect.fnUntraced(function*({ state, taskID, time }: TaskRun, now: number) {
  const store = yield* SessionStorage
  if (state === "queued") return "waits for its turn"
  const below = (yield* store.runs({ parentID: taskID })).rows.filter((run) => run.state !== "settled")
  const { rows } = yield* store.messagePage(taskID, { ...messagesPage, limit: few })
  const last = rows.findLast(({ info }) =>
    info.role === "assistant" && info.time.created >= (time.started ?? time.created)
  )
  const parts = last?.parts ?? []
  const others = parts.some((part) =>
    part.type === "tool" && part.tool !== "task" && part.state.status !== "completed"
    && part.state.status !== "error"
  )
  if (below.length > 0 && !others) return ofTasks([...new Set(below.map((run) => run.taskID))])
  return yield* orForBudget(taskID, ofParts(parts, now))
})
