/** Decides how it is told that something cannot be trusted, or that what is trusted cannot be read. */
import * as Schema from "effect/Schema"

/** What is trusted could not be read or changed; the message says why, and how to mend it. */
export class TrustError extends Schema.TaggedError<TrustError>()("TrustError", { message: Schema.String }) {}
