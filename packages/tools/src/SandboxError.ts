/** Why a sandbox cannot be had. */
import * as Schema from "effect/Schema"

/** Commands cannot be confined as they have to be; the message says why, and what to do. */
export class SandboxError extends Schema.TaggedError<SandboxError>()("SandboxError", { message: Schema.String }) {}
