/** Decides how to report a refusal. */
import * as Schema from "effect/Schema"

/** The call is not permitted. The model reads `message`. */
export class PermissionDenied extends Schema.TaggedError<PermissionDenied>()("PermissionDenied", {
  permission: Schema.String,
  patterns: Schema.Array(Schema.String),
  /**
   * `rule`: a rule denies it; `nobody`: it needs a person and there is none; `rejected`: a person rejected it; `hook`:
   * a hook refused it, or failed.
   */
  by: Schema.Literal("rule", "nobody", "rejected", "hook"),
  /** Whether it ends the session's turn: a person rejected it without a reason. */
  endsTurn: Schema.Boolean,
  message: Schema.String
}) {}

/** No such question waits for an answer. */
export class PermissionNotFound extends Schema.TaggedError<PermissionNotFound>()("PermissionNotFound", {
  id: Schema.String,
  message: Schema.String
}) {}
