/** Decides how to report that a command cannot be used. */
import * as Schema from "effect/Schema"

/** There is no command of this name. */
export class CommandNotFound extends Schema.TaggedError<CommandNotFound>()("CommandNotFound", {
  name: Schema.String,
  message: Schema.String
}) {}

/** The definition of a command cannot be used. */
export class CommandInvalid extends Schema.TaggedError<CommandInvalid>()("CommandInvalid", {
  name: Schema.String,
  message: Schema.String
}) {}
