/** Decides how to report that an archive cannot be imported. */
import * as Schema from "effect/Schema"

/** The text is not an archive, or cannot be imported. `path` leads to the fault, if it is in one place. */
export class ArchiveInvalid extends Schema.TaggedError<ArchiveInvalid>()("ArchiveInvalid", {
  reason: Schema.Literal("not_json", "foreign", "newer", "invalid", "exists"),
  path: Schema.optional(Schema.String),
  message: Schema.String
}) {}
