/** Decides how a refusal is told. */
import * as Schema from "effect/Schema"

/** The call may not be made. `message` is what the model reads. */
export class PermissionDenied extends Schema.TaggedError<PermissionDenied>()("PermissionDenied", {
  permission: Schema.String,
  patterns: Schema.Array(Schema.String),
  /** `rule`: a rule denies it; `nobody`: it asks and nobody is there; `rejected`: a person said no; `hook`: a hook did, or failed. */
  by: Schema.Literal("rule", "nobody", "rejected", "hook"),
  /** Whether the session's turn ends with it: a person said no and gave no further word. */
  endsTurn: Schema.Boolean,
  message: Schema.String
}) {}

/** No such question waits for an answer. */
export class PermissionNotFound extends Schema.TaggedError<PermissionNotFound>()("PermissionNotFound", {
  id: Schema.String,
  message: Schema.String
}) {}
