/** Decides how to report that a hook blocked something. */
import * as Schema from "effect/Schema"

/** A hook blocked something, or failed where it must not. The model reads `message`. */
export class HookRefused extends Schema.TaggedError<HookRefused>()("HookRefused", {
  event: Schema.String,
  /** The name of the hook. */
  hook: Schema.String,
  reason: Schema.Literal("blocked", "failed"),
  /** Whether the hook also ends the turn. */
  endsTurn: Schema.optional(Schema.Literal(true)),
  message: Schema.String
}) {}
