/** Puts runs into the form of the protocol's tasks: that of the extension of 2026, and that of the revision of 2025-11-25. */
import type { CallToolResult } from "@modelcontextprotocol/server"
import { inputRequired } from "@modelcontextprotocol/server"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { formOf } from "./asks.ts"
import { resultOf, textResult } from "./attend.ts"
import type { Call } from "./Call.ts"
import type { Delegation, Ended } from "./Delegation.ts"

/** How long a task can be asked for, and how often a client should ask, in milliseconds. */
const times = { ttl: 24 * 60 * 60_000, poll: 1_000 }

/** Whether a call is to be answered with a task. */
export const wantsTask = (call: Call): boolean => call.knowsTasks

const end = (run: Delegation): Effect.Effect<Ended | undefined> =>
  Effect.flatMap(Deferred.poll(run.ended), Option.getOrElse(() => Effect.succeed(undefined)))

const statusOf = (run: Delegation, ended: Ended | undefined) => {
  if (ended !== undefined) return ended.how === "settled" ? "completed" : "cancelled"
  return run.asks.size > 0 ? "input_required" : "working"
}

const isoTime = (time: number): string => new Date(time).toISOString()

const baseOf = (run: Delegation, ended: Ended | undefined) => ({
  taskId: run.id as string,
  status: statusOf(run, ended),
  statusMessage: run.doing(),
  createdAt: isoTime(run.created),
  lastUpdatedAt: isoTime(run.changed())
})

/** A run as clients of 2026-07-28 see it, with what it asks and how it ended. */
export const extensionTask = (run: Delegation): Effect.Effect<Record<string, unknown>> =>
  Effect.map(end(run), (ended) => ({
    ...baseOf(run, ended),
    ttlMs: times.ttl,
    pollIntervalMs: times.poll,
    ...(ended === undefined && run.asks.size > 0
      ? {
        inputRequests: Object.fromEntries(
          [...run.asks.values()].map((ask) => [ask.id, inputRequired.elicit(formOf(ask))])
        )
      }
      : {}),
    ...(ended?.how === "settled" ? { result: resultOf(ended) } : {})
  }))

/** A run as clients of 2025-11-25 see it. */
export const earlierTask = (run: Delegation): Effect.Effect<Record<string, unknown>> =>
  Effect.map(end(run), (ended) => ({ ...baseOf(run, ended), ttl: times.ttl, pollInterval: times.poll }))

/** The answer to the call that began a run: the task, and in words for clients that take it for a result. */
export const createdResult = (run: Delegation, call: Call): Effect.Effect<CallToolResult> =>
  Effect.map(call.isModern ? extensionTask(run) : earlierTask(run), (made): CallToolResult => ({
    ...textResult(`task_id: ${run.taskID}\nThe task works. Its result comes with tasks/get.`),
    ...(call.isModern ? { resultType: "task", ...made } : { task: made })
  }))
