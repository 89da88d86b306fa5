/** Decides how to report that something cannot be trusted, or that the trust file cannot be read. */
import * as Schema from "effect/Schema"

/** The trust file could not be read or changed. The message says why, and how to fix it. */
export class TrustError extends Schema.TaggedError<TrustError>()("TrustError", { message: Schema.String }) {}
