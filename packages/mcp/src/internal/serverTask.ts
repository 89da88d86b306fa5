/**
 * Describes a server's task, and lets a server answer a call with one. The SDK knows no such results: it refuses those of
 * 2026-07-28, and takes those of 2025-11-25 for empty ones. So they are put into a form that it passes on.
 */
import type { CallToolResult, JSONRPCMessage, Transport } from "@modelcontextprotocol/client"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"

/** The extension by which clients and servers of 2026-07-28 know tasks. */
export const tasksExtension = "io.modelcontextprotocol/tasks"

const Optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { nullable: true })

/** What a server says of a task. The extension puts the outcome and the questions into it. */
export const Task = Schema.Struct({
  taskId: Schema.NonEmptyString.pipe(Schema.maxLength(1_000)),
  status: Schema.Literal("working", "input_required", "completed", "failed", "cancelled"),
  statusMessage: Optional(Schema.String),
  lastUpdatedAt: Optional(Schema.String),
  pollInterval: Optional(Schema.Finite),
  pollIntervalMs: Optional(Schema.Finite),
  inputRequests: Optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  result: Schema.optional(Schema.Unknown),
  error: Optional(Schema.Struct({ message: Schema.String }))
})
/** The type of such a description. */
export interface Task extends Schema.Schema.Type<typeof Task> {}

/** How long to wait between two questions about a task, in milliseconds: by default, and at least and at most. */
const pause = { standard: 1_000, shortest: 50, longest: 60_000 } as const

/** How long the server wants to be left alone, in milliseconds. */
export const pauseOf = ({ pollInterval, pollIntervalMs }: Task): number =>
  Math.min(Math.max(pollIntervalMs ?? pollInterval ?? pause.standard, pause.shortest), pause.longest)

/** Where a result has the task that was made instead of it. */
const key = "skein/task"

/** How many cancelled calls are remembered: their answers may still come. */
const most = 1_000

const decodeTask = Schema.decodeUnknownEither(Task)

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The task in a result as the server sent it. A result that has content may have something else by this name. */
const taskIn = (result: Readonly<Record<string, unknown>>): unknown => {
  if (result["resultType"] === "task") return result
  const { content, task } = result
  return isRecord(task) && (content === undefined || Either.isRight(decodeTask(task))) ? task : undefined
}

/** The task that a server made of a call; a fault if it does not describe one; undefined for a plain result. */
export const taskOf = ({ _meta }: CallToolResult): Either.Either<Task, string> | undefined =>
  _meta === undefined || !Object.hasOwn(_meta, key)
    ? undefined
    : Either.mapLeft(decodeTask(_meta[key]), () => "it answered with an invalid task")

/**
 * Puts it between a transport and the client that has been connected over it. `onAbandoned` hears the id of a task that was
 * made of a call after that was cancelled.
 */
export const passTasks = (transport: Transport, onAbandoned: (taskId: string) => void): void => {
  const { onmessage, send: sendOn } = transport
  const cancelled = new Set<unknown>()
  const send: Transport["send"] = (message, options) => {
    if ("method" in message && message.method === "notifications/cancelled") {
      cancelled.add(message.params?.["requestId"])
      for (const oldest of cancelled) {
        if (cancelled.size <= most) break
        cancelled.delete(oldest)
      }
    }
    return sendOn.call(transport, message, options)
  }
  const hear: NonNullable<Transport["onmessage"]> = (message, extra) => {
    const task = "result" in message && isRecord(message.result) ? taskIn(message.result) : undefined
    if (task === undefined || !("id" in message) || message.id === undefined) return onmessage?.(message, extra)
    if (cancelled.delete(message.id)) {
      const made = decodeTask(task)
      if (Either.isRight(made)) onAbandoned(made.right.taskId)
      return
    }
    const passed: JSONRPCMessage = {
      jsonrpc: "2.0",
      id: message.id,
      result: { resultType: "complete", content: [], _meta: { [key]: task } }
    }
    onmessage?.(passed, extra)
  }
  Object.assign(transport, { send, onmessage: hear })
}
