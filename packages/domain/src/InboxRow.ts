/** Decides what waits for a session: prompts, steers and notifications, kept until a turn has taken them. */
import * as Schema from "effect/Schema"
import { MessageID, RunID, SessionID } from "./Id.ts"
import { ModelRef } from "./Model.ts"
import { PartInput } from "./Part.ts"

/**
 * Something to be read by a session at its next step boundary. `id` is the id of the message that it becomes, unless
 * a younger message is there by then. A `note` asks for no answer: it waits until something else makes the session work. A
 * `stop` is for the process that runs the session, and becomes no message.
 */
export const InboxRow = Schema.Struct({
  id: MessageID,
  sessionID: SessionID,
  kind: Schema.Literal("prompt", "steer", "notification", "note", "stop"),
  /** Put there by another process than the one that runs the session. */
  foreign: Schema.optional(Schema.Literal(true)),
  /** Of a `stop`: the run to stop, and why. */
  stop: Schema.optional(Schema.Struct({ runID: RunID, reason: Schema.optional(Schema.String) })),
  /** The run that this tells of: at most one row in a session's life for each run. */
  runID: Schema.optional(RunID),
  parts: Schema.Array(PartInput),
  /** Set where another agent wrote it, and no person. */
  from: Schema.optional(Schema.Literal("agent")),
  agent: Schema.optional(Schema.String),
  model: Schema.optional(ModelRef),
  variant: Schema.optional(Schema.String),
  system: Schema.optional(Schema.String),
  tools: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Boolean })),
  time: Schema.Struct({ created: Schema.Number })
})
/** The type of an inbox row. */
export interface InboxRow extends Schema.Schema.Type<typeof InboxRow> {}
