/** Decides how to report that a task cannot be started. */
import * as Schema from "effect/Schema"

/** The task cannot be started or resumed; nothing was done. The message says what to do instead. */
export class TaskRefused extends Schema.TaggedError<TaskRefused>()("TaskRefused", {
  reason: Schema.Literal(
    "unknown_agent",
    "depth",
    "limit",
    "budget",
    "not_found",
    "parent_not_found",
    "not_a_child",
    "agent_changed",
    "bad_message",
    "settled",
    "isolation",
    "project",
    "bad_model"
  ),
  message: Schema.String
}) {}
