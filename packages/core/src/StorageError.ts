/** Decides how a failure of storage is told. */
import * as Schema from "effect/Schema"

/** Something could not be stored or read. The message says what, where, and how to mend it. */
export class StorageError extends Schema.TaggedError<StorageError>()("StorageError", {
  operation: Schema.String,
  reason: Schema.Literal(
    "busy",
    "full",
    "readonly",
    "corrupt",
    "newer",
    "foreign",
    "unreadable",
    "constraint",
    "other"
  ),
  message: Schema.String
}) {}
