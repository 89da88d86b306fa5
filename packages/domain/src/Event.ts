/** Defines the events of the Bus, which CLI, server and hooks share. */
import * as Schema from "effect/Schema"
import { EventID, MessageID, PartID, PermissionID, RunID, SessionID } from "./Id.ts"
import { WaitingPrompt } from "./InboxRow.ts"
import { ErrorInfo, Message } from "./Message.ts"
import { Outcome } from "./Outcome.ts"
import { Part } from "./Part.ts"
import { SessionInfo, SessionStatus, Todo } from "./SessionInfo.ts"
import { Usage } from "./Usage.ts"

const Metadata = Schema.Record({ key: Schema.String, value: Schema.Unknown })

const task = {
  task_id: SessionID,
  run_id: RunID,
  trigger_session_id: SessionID,
  root: SessionID,
  depth: Schema.NonNegativeInt,
  /** The names of the agents from the root to this one. */
  path: Schema.Array(Schema.String),
  agent: Schema.String,
  description: Schema.String
}
const settled = { ...task, durationMs: Schema.Number, outcome: Outcome, usage: Usage }

/** One tool call of a subagent, for watchers. */
export const SummaryRow = Schema.Struct({
  id: PartID,
  tool: Schema.String,
  state: Schema.Struct({
    status: Schema.Literal("running", "completed", "error"),
    title: Schema.optional(Schema.String)
  })
})
/** The type of such a row. */
export interface SummaryRow extends Schema.Schema.Type<typeof SummaryRow> {}

/** Who asks a person, where, and since when. Absent fields are not known. */
const asking = {
  sessionID: SessionID,
  rootID: SessionID,
  /** The names of the agents from the root to the one that asks. */
  path: Schema.Array(Schema.String),
  /** The title of the root session. */
  title: Schema.optional(Schema.String),
  /** The description of the task that asks. */
  description: Schema.optional(Schema.String),
  /** Where the session works. */
  directory: Schema.optional(Schema.String),
  /** The root of its own worktree. */
  worktree: Schema.optional(Schema.String),
  /** When it was asked first, in milliseconds since 1970. */
  since: Schema.optional(Schema.Number)
}

/** A permission question, as shown to a person. */
export const PermissionRequest = Schema.Struct({
  id: PermissionID,
  ...asking,
  /** The call that asks. */
  partID: Schema.optional(PartID),
  permission: Schema.String,
  patterns: Schema.Array(Schema.String),
  /** The patterns that the answer `always` would store. */
  always: Schema.Array(Schema.String),
  /** Set if only a person may allow it: the mode `auto` denies it. */
  needsPerson: Schema.optional(Schema.Literal(true)),
  metadata: Metadata
})
/** The type of a permission question. */
export interface PermissionRequest extends Schema.Schema.Type<typeof PermissionRequest> {}

/** A person's answer: this once, from now on, or no. */
export const PermissionReply = Schema.Literal("once", "always", "reject")
/** The type of an answer. */
export type PermissionReply = typeof PermissionReply.Type

/** A question of an agent to a person. */
export const QuestionRequest = Schema.Struct({
  /** The call that asks. */
  id: PartID,
  ...asking,
  question: Schema.String,
  /** The options to choose from. The person may always answer in other words. */
  options: Schema.Array(Schema.Struct({ label: Schema.String, description: Schema.optional(Schema.String) })),
  /** Whether several of the options may be chosen. */
  multiple: Schema.Boolean
})
/** The type of a question to a person. */
export interface QuestionRequest extends Schema.Schema.Type<typeof QuestionRequest> {}

/** How a question ended: with an answer, without one, or with the end of the call that asked. */
export const QuestionReply = Schema.Literal("answered", "dismissed", "withdrawn")
/** The type of a question's end. */
export type QuestionReply = typeof QuestionReply.Type

/** A wait of a session that has ended. Times are milliseconds since 1970. */
export const Wait = Schema.Struct({
  /** What it waited for: `pause` is one that a provider asked for, and `tasks` are its own. */
  why: Schema.Literal("slot", "retry", "pause", "budget", "person", "tasks"),
  start: Schema.Number,
  end: Schema.Number,
  /** When a pause was to end, or a retry to begin. */
  until: Schema.optional(Schema.Number),
  /** The model whose provider asked for the pause. */
  origin: Schema.optional(Schema.String)
})
/** The type of such a wait. */
export interface Wait extends Schema.Schema.Type<typeof Wait> {}

/** The properties of each kind of event. */
export const properties = {
  /** A session was created. */
  "session.created": Schema.Struct({ info: SessionInfo }),
  /** A session changed, such as its title. */
  "session.updated": Schema.Struct({ info: SessionInfo }),
  /** A session was deleted. */
  "session.deleted": Schema.Struct({ info: SessionInfo }),
  /** The status of the session: busy, queued, waiting, retrying, compacting, away or idle. */
  "session.status": Schema.Struct({ status: SessionStatus }),
  /** The session waited for a tenth of a second or more. Stored with its next change after that. */
  "session.waited": Wait,
  /** The turn ended, and nothing runs in the session. */
  "session.idle": Schema.Struct({}),
  /** The turn failed. */
  "session.error": Schema.Struct({ error: ErrorInfo }),
  /** A message was created or changed. */
  "message.updated": Schema.Struct({ info: Message }),
  /**
   * The current state of a part. Replace the part with this, and append its deltas, to have its exact content after
   * each event. When a try fails, its texts are published as empty before the next try. Ignore a part that stays empty.
   */
  "message.part.updated": Schema.Struct({ part: Part }),
  /** Text to append to the part, or to start an unknown part. */
  "message.part.delta": Schema.Struct({
    messageID: MessageID,
    partID: PartID,
    field: Schema.Literal("text", "reasoning"),
    delta: Schema.String
  }),
  /** A conversation was compacted: models read it from this message on. Both sizes are estimates. */
  "session.compacted": Schema.Struct({
    messageID: MessageID,
    auto: Schema.Boolean,
    tokens: Schema.Struct({ before: Schema.NonNegativeInt, after: Schema.NonNegativeInt })
  }),
  /** An agent asks for permission. */
  "permission.asked": PermissionRequest,
  /** A question for permission was answered. */
  "permission.replied": Schema.Struct({
    id: PermissionID,
    reply: PermissionReply,
    message: Schema.optional(Schema.String),
    /** Nobody answered: the call was stopped first. */
    withdrawn: Schema.optional(Schema.Literal(true)),
    /** What allows it, if nobody answered. */
    by: Schema.optional(Schema.Literal("rule", "mode", "sandbox", "hook", "person")),
    /** For `always`: whether it applies to this tree of sessions, or to the project. */
    scope: Schema.optional(Schema.Literal("tree", "project"))
  }),
  /** An agent asks a person a question. */
  "question.asked": QuestionRequest,
  /** `answers` are labels of options, or the person's own words. */
  "question.replied": Schema.Struct({ id: PartID, reply: QuestionReply, answers: Schema.Array(Schema.String) }),
  /** A command became a prompt of this session. */
  "command.executed": Schema.Struct({ name: Schema.String, arguments: Schema.String }),
  /** What waits for an agent at work has changed: the prompts of people that it has not read yet, oldest first. */
  "inbox.updated": Schema.Struct({ waiting: Schema.Array(WaitingPrompt) }),
  /** The todo list changed. */
  "todo.updated": Schema.Struct({
    todos: Schema.Array(Todo)
  }),
  /** A task was created. */
  "subagent.created": Schema.Struct(task),
  /** A task completed. */
  "subagent.completed": Schema.Struct(settled),
  /** A task settled with any other outcome. */
  "subagent.failed": Schema.Struct(settled),
  /** A task continues in the background. */
  "background_task.started": Schema.Struct(task),
  /** The tool calls of a background task so far, at most ten times a second. */
  "background_task.progress": Schema.Struct({
    ...task,
    durationMs: Schema.Number,
    usage: Usage,
    summary: Schema.Array(SummaryRow)
  }),
  /** A background task completed. */
  "background_task.completed": Schema.Struct(settled),
  /** A background task settled with any other outcome. */
  "background_task.failed": Schema.Struct(settled)
} as const

/** The names of the kinds of event. */
export type EventType = keyof typeof properties

/** The properties of an event of one kind. */
export type EventProperties<T extends EventType> = typeof properties[T]["Type"]

/**
 * An event; `timestamp` is in milliseconds since 1970. A stored event has a `seq`: the events of a tree are numbered
 * from 1, without a gap.
 */
export type Event<T extends EventType = EventType> = {
  readonly [K in T]: {
    readonly id: EventID
    readonly seq?: number
    readonly type: K
    readonly timestamp: number
    readonly sessionID: SessionID
    readonly rootID: SessionID
    readonly parentID?: SessionID
    readonly depth: number
    readonly properties: EventProperties<K>
  }
}[T]

/** Ephemeral kinds: published on the bus, and not stored in the event log. */
export const ephemeral: ReadonlySet<EventType> = new Set(["session.status", "message.part.delta"])
