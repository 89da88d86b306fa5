/** The error if a sandbox is not available. */
import * as Schema from "effect/Schema"

/** Commands cannot be confined as required. The message says why, and what to do. */
export class SandboxError extends Schema.TaggedError<SandboxError>()("SandboxError", {
  message: Schema.String,
  /** Whether the machine lacked something for a moment: nothing runs unconfined for that, and the next call tries again. */
  isTemporary: Schema.optional(Schema.Boolean)
}) {}
