/** Defines the state of a tree of sessions at one place in its log, as front ends and clients receive it. */
import * as Schema from "effect/Schema"
import { PermissionRequest, QuestionRequest } from "./Event.ts"
import { SessionID } from "./Id.ts"
import { WaitingPrompt } from "./InboxRow.ts"
import { TaskRun } from "./Outcome.ts"
import { SessionInfo, SessionStatus } from "./SessionInfo.ts"

/** A session, and what it does now. A root has its `mode`. */
export const ListedSession = Schema.Struct({ ...SessionInfo.fields, status: SessionStatus })
/** The type of a listed session. */
export interface ListedSession extends Schema.Schema.Type<typeof ListedSession> {}

/** The process that holds a tree, as far as its name tells. It has a URL if it is a server of a cluster. */
export const Holder = Schema.Struct({
  url: Schema.optional(Schema.String),
  host: Schema.optional(Schema.String),
  pid: Schema.optional(Schema.Int)
})
/** The type of a holder. */
export interface Holder extends Schema.Schema.Type<typeof Holder> {}

/** A session with what it does now, and who holds its tree if anybody does. */
export const ShownSession = Schema.Struct({ ...ListedSession.fields, holder: Schema.optional(Holder) })
/** The type of a shown session. */
export interface ShownSession extends Schema.Schema.Type<typeof ShownSession> {}

const waitingAt = {
  /** The process that asks, if another one works in the tree. */
  holder: Schema.optional(Holder),
  /** Set if the process that asked has ended: the question is asked again once the tree is resumed. */
  abandoned: Schema.optional(Schema.Literal(true))
}

/** A question that waits for a person: for permission, or of an agent. */
export const PendingAsk = Schema.Union(
  Schema.Struct({ type: Schema.Literal("permission"), ...PermissionRequest.fields, ...waitingAt }),
  Schema.Struct({ type: Schema.Literal("question"), ...QuestionRequest.fields, ...waitingAt })
)
/** The type of a pending ask. */
export type PendingAsk = typeof PendingAsk.Type

/** A session of a tree, with how its work ended. */
export const TreeSession = Schema.Struct({
  ...ListedSession.fields,
  /** The beginning of what it said last: of its task's result, or of a root's answer. Absent while it works. */
  conclusion: Schema.optional(Schema.String),
  /** Why its last run or turn did not complete. */
  cause: Schema.optional(Schema.String)
})
/** The type of a session of a tree. */
export interface TreeSession extends Schema.Schema.Type<typeof TreeSession> {}

/** A tree of sessions after the event `seq`: with the events after that one, it is up to date. */
export const TreeSnapshot = Schema.Struct({
  rootID: SessionID,
  seq: Schema.NonNegativeInt,
  /** The root first, and each session before those below it. */
  sessions: Schema.Array(TreeSession),
  /** Every run of every task of the tree, those of a task oldest first. */
  tasks: Schema.Array(TaskRun),
  asks: Schema.Array(PendingAsk),
  /** The prompts of people that the root has not read yet, oldest first. */
  waiting: Schema.Array(WaitingPrompt)
}).annotations({ identifier: "Tree" })
/** The type of a snapshot. */
export interface TreeSnapshot extends Schema.Schema.Type<typeof TreeSnapshot> {}

/** A page of it: some of the sessions, with the runs and the questions of each. The first page also has what is `waiting`. */
export const TreePage = Schema.Struct({ ...TreeSnapshot.fields, next: Schema.optional(Schema.String) }).annotations({
  identifier: "TreePage"
})
/** The type of such a page. */
export interface TreePage extends Schema.Schema.Type<typeof TreePage> {}
