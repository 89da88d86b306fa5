/** Defines the todos of a session. */
import * as Schema from "effect/Schema"

/** A step that an agent plans. */
export const Todo = Schema.Struct({
  content: Schema.NonEmptyString,
  status: Schema.Literal("pending", "in_progress", "completed", "cancelled"),
  priority: Schema.Literal("high", "medium", "low")
})
/** The type of a todo. */
export interface Todo extends Schema.Schema.Type<typeof Todo> {}
