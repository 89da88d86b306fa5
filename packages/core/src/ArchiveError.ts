/** Decides how it is told that an archive cannot be taken in. */
import * as Schema from "effect/Schema"

/** A text that is no archive, or one that cannot be taken in; `path` leads to what is wrong, where it is one place. */
export class ArchiveInvalid extends Schema.TaggedError<ArchiveInvalid>()("ArchiveInvalid", {
  reason: Schema.Literal("not_json", "foreign", "newer", "invalid", "exists"),
  path: Schema.optional(Schema.String),
  message: Schema.String
}) {}
