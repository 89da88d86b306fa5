/** Decides how a request that makes no sense is told. */
import * as Schema from "effect/Schema"

/** The command line asks for what there is not. The message says how to mend it. */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", { message: Schema.String }) {}
