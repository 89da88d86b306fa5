/** A server cannot be used, and why. */
import * as Data from "effect/Data"

/** A server could not be reached, or ended. */
export class ServerFailed extends Data.TaggedError("ServerFailed")<{ readonly message: string }> {}
