/** A server's task as it describes it: by the extension of 2026-07-28, and by the revision of 2025-11-25. */
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
