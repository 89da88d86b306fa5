/** Decides what a todo of a session is. */
import * as Schema from "effect/Schema"

/** One thing that an agent plans to do. */
export const Todo = Schema.Struct({
  content: Schema.NonEmptyString,
  status: Schema.Literal("pending", "in_progress", "completed", "cancelled"),
  priority: Schema.Literal("high", "medium", "low")
})
/** The type of a todo. */
export interface Todo extends Schema.Schema.Type<typeof Todo> {}
