/** Defines what a process asks, through their database, of the one that holds a tree of sessions. */
import * as Schema from "effect/Schema"
import { PermissionReply } from "./Event.ts"
import { ControlID, PartID, PermissionID, SessionID } from "./Id.ts"
import { Mode } from "./Mode.ts"

/** A request about a session: its stop, the stop of its task and so on. */
export const ControlRequest = Schema.Union(
  Schema.Struct({ type: Schema.Literal("stop"), by: Schema.optional(Schema.String) }),
  Schema.Struct({ type: Schema.Literal("mode"), mode: Mode }),
  Schema.Struct({ type: Schema.Literal("task_stop"), by: Schema.String, reason: Schema.optional(Schema.String) }),
  Schema.Struct({ type: Schema.Literal("task_message"), message: Schema.String }),
  Schema.Struct({ type: Schema.Literal("task_promote") }),
  Schema.Struct({
    type: Schema.Literal("reply"),
    id: PermissionID,
    answer: PermissionReply,
    message: Schema.optional(Schema.String),
    scope: Schema.optional(Schema.Literal("tree", "project"))
  }),
  Schema.Struct({ type: Schema.Literal("answer"), id: PartID, answers: Schema.NonEmptyArray(Schema.String) }),
  Schema.Struct({ type: Schema.Literal("dismiss"), id: PartID })
)
/** The type of a request. */
export type ControlRequest = typeof ControlRequest.Type

/** The result of a request as JSON, or the error with which it was refused. */
export const ControlAnswer = Schema.Union(
  Schema.Struct({ ok: Schema.Literal(true), value: Schema.optional(Schema.Unknown) }),
  Schema.Struct({
    ok: Schema.Literal(false),
    error: Schema.Struct(
      { _tag: Schema.String, message: Schema.String },
      Schema.Record({ key: Schema.String, value: Schema.Unknown })
    )
  })
)
/** The type of an answer. */
export type ControlAnswer = typeof ControlAnswer.Type

/** A stored request. It waits, for the present or the next holder of the tree, until it has an answer. */
export const ControlRow = Schema.Struct({
  id: ControlID,
  sessionID: SessionID,
  rootID: SessionID,
  request: ControlRequest,
  answer: Schema.optional(ControlAnswer),
  time: Schema.Struct({ created: Schema.Number })
})
/** The type of a stored request. */
export interface ControlRow extends Schema.Schema.Type<typeof ControlRow> {}
