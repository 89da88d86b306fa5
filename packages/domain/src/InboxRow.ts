/** Defines inbox rows: prompts, messages and notifications that wait until a turn takes them. */
import * as Schema from "effect/Schema"
import { MessageID, RunID, SessionID } from "./Id.ts"
import { ModelRef } from "./Model.ts"
import { PartInput } from "./Part.ts"

/**
 * A row that a session reads at its next step. `id` is the id of the message that it becomes, unless there is a younger
 * message by then. A `note` needs no answer: it waits until something else starts the loop. A `stop` is for the process
 * that runs the session, and becomes no message.
 */
export const InboxRow = Schema.Struct({
  id: MessageID,
  sessionID: SessionID,
  kind: Schema.Literal("prompt", "steer", "notification", "note", "stop"),
  /** Stored by another process than the one that runs the session. */
  foreign: Schema.optional(Schema.Literal(true)),
  /** For a `stop`: the run to stop, and why. */
  stop: Schema.optional(Schema.Struct({ runID: RunID, reason: Schema.optional(Schema.String) })),
  /** The run that this reports: at most one row per run in a session's life. */
  runID: Schema.optional(RunID),
  parts: Schema.Array(PartInput),
  /** Set if an agent wrote it, and not a person. */
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
