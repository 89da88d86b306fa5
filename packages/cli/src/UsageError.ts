/** Decides how a request that makes no sense is reported. */
import * as Schema from "effect/Schema"

/** The command line, or something that it names, is not valid. The message says how to fix it. */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", { message: Schema.String }) {}
