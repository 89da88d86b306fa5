/** Defines the stored data of a session. */
import * as Schema from "effect/Schema"
import { Account } from "./Budget.ts"
import { MessageID, PartID, SessionID } from "./Id.ts"
import { Mode } from "./Mode.ts"
import { ModelRef } from "./Model.ts"
import { Ruleset } from "./Rule.ts"
import { Reserved, Usage } from "./Usage.ts"

/** A step that an agent plans. */
export const Todo = Schema.Struct({
  content: Schema.NonEmptyString,
  status: Schema.Literal("pending", "in_progress", "completed", "cancelled"),
  priority: Schema.Literal("high", "medium", "low")
})
/** The type of a todo. */
export interface Todo extends Schema.Schema.Type<typeof Todo> {}

/** The version of the format of stored sessions, messages and parts. */
export const version = 1

/** The summary of a session, a few lines that a model wrote. */
export const SessionSummary = Schema.Struct({
  text: Schema.NonEmptyString,
  /** The files that the session and those below it changed, as they named them, latest change last; the last 100. */
  files: Schema.Array(Schema.String),
  /** The last message that it covers. */
  until: MessageID,
  /** When it was written, in milliseconds since 1970. */
  time: Schema.Number
})
/** The type of a summary. */
export interface SessionSummary extends Schema.Schema.Type<typeof SessionSummary> {}

/** A turn as stored. If a crash left it without an end, it continues when the session is next resumed. */
export const SessionTurn = Schema.Struct({
  began: Schema.Number,
  /** Its first message; absent if it was stopped before it had one. */
  first: Schema.optional(MessageID),
  /** The stops of the session and of those above when it began; a later one ends it. */
  stops: Schema.optional(Schema.Number),
  /**
   * The models that may answer it, in order, and the agent for which the config chose them. They stay the same while the turn
   * is open, also where another config holds. Absent if the session names its model.
   */
  models: Schema.optional(Schema.Struct({ agent: Schema.String, refs: Schema.Array(ModelRef) })),
  /** The last answer for which the process died, when somebody had it ask again: deaths until then do not count. */
  forgiven: Schema.optional(MessageID),
  /** How often in a row the process died while it compacted the conversation up to this message. */
  uncompacted: Schema.optional(Schema.Struct({ until: MessageID, deaths: Schema.Number })),
  /** The process died too often while it waited for the same answer: nothing asks again by itself. */
  leftAlone: Schema.optional(Schema.Literal(true)),
  /** Absent while the turn is open. */
  ended: Schema.optional(
    Schema.Struct({
      at: Schema.Number,
      how: Schema.Literal("completed", "denied", "steps", "stopped", "failed"),
      error: Schema.optional(Schema.Struct({ tag: Schema.String, message: Schema.String })),
      /** The exhausted budget, if that is the error. */
      which: Schema.optional(Schema.Literal("steps", "tokens", "usd", "time", "tasks"))
    })
  )
})
/** The type of a stored turn. */
export interface SessionTurn extends Schema.Schema.Type<typeof SessionTurn> {}

/** How the files of a tree get to another host. */
export const SessionWorkspace = Schema.Struct({
  /** The URL of the repository in which its last step is kept, at `refs/skein/ROOT`. It holds no password. */
  remote: Schema.String,
  /** The directory of the session in that repository; empty at its top. */
  inside: Schema.String,
  /** Why the last step is not there; absent if it is, or is on its way. */
  failure: Schema.optional(Schema.String),
  /** Where the tree worked before, and until when. What is there stays as it is. */
  from: Schema.optional(
    Schema.Struct({ host: Schema.optional(Schema.String), directory: Schema.String, at: Schema.Number })
  )
})
/** The type of what is stored of that. */
export interface SessionWorkspace extends Schema.Schema.Type<typeof SessionWorkspace> {}

/** One conversation: a working directory, a current agent, one parent at most. Times are milliseconds since 1970. */
export const SessionInfo = Schema.Struct({
  id: SessionID,
  parentID: Schema.optional(SessionID),
  rootID: SessionID,
  /** 0 at the root, one more at each level below it. */
  depth: Schema.NonNegativeInt,
  projectID: Schema.String,
  directory: Schema.String,
  /** For a root: the host of `directory`, if it is known. */
  host: Schema.optional(Schema.String),
  /** For a root: what tells that host from others of the same name, if its system knows it. */
  machine: Schema.optional(Schema.String),
  /** For a root, if true: no agent of its tree touches files or runs commands, so any host may take it up. */
  anywhere: Schema.optional(Schema.Boolean),
  /** For a root: set if its steps are kept in a git repository, so that it can move to another host. */
  workspace: Schema.optional(SessionWorkspace),
  /** Set if the session works in its own worktree, which contains `directory`. */
  worktree: Schema.optional(Schema.Struct({ root: Schema.String, branch: Schema.String })),
  title: Schema.String,
  summary: Schema.optional(SessionSummary),
  agent: Schema.String,
  /** For a root: how much its tree may do without asking. */
  mode: Schema.optional(Mode),
  /** In the mode `plan`: the agent that works again when the mode ends. */
  agentBefore: Schema.optional(Schema.String),
  model: Schema.optional(ModelRef),
  /** A system prompt that replaces that of its agent, while that is the agent. */
  prompt: Schema.optional(Schema.Struct({ agent: Schema.String, text: Schema.String })),
  /** For a copy: the session of the original, under which the provider may have cached the conversation. */
  cachedAs: Schema.optional(SessionID),
  /** The session's own rules, which it and everything below it cannot exceed. */
  permission: Ruleset,
  /**
   * `own`: the usage of this session's requests; `subtree`: of it and everything below it, deleted children included.
   */
  usage: Schema.Struct({ own: Usage, subtree: Usage }),
  /** The budget of it and everything below it, and its usage. */
  budget: Schema.optional(Account),
  /** The requests of hidden agents that are out: each is charged when its answer is stored. */
  asking: Schema.optional(
    Schema.Array(
      Schema.Struct({ id: PartID, purpose: Schema.Literal("title", "summary", "compaction"), reserved: Reserved })
    )
  ),
  /** The open turn, or the last one. */
  turn: Schema.optional(SessionTurn),
  /** How often it was stopped itself, with everything below it. Stored before anything stops: what is older is inert. */
  stops: Schema.optional(Schema.Number),
  version: Schema.Int,
  time: Schema.Struct({
    created: Schema.Number,
    updated: Schema.Number,
    archived: Schema.optional(Schema.Number)
  })
})
/** The type of a session's data. */
export interface SessionInfo extends Schema.Schema.Type<typeof SessionInfo> {}

/** The directory of a session, and the root of its worktree, or else of its project. */
export const pathOf = ({ directory, projectID, worktree }: SessionInfo) => ({
  cwd: directory,
  root: worktree?.root ?? (`${directory}/`.startsWith(`${projectID}/`) ? projectID : directory)
})

/**
 * The status of a session: idle, queued for a slot, busy, compacting, waiting for budget, waiting before a retry, or, for
 * the root of a tree with unfinished work, waiting for a server on the host of its directory. With `elsewhere` another process
 * works in it, at `url` if that is a server: only that one knows what it does.
 */
export const SessionStatus = Schema.Union(
  Schema.Struct({ type: Schema.Literal("idle") }),
  Schema.Struct({
    type: Schema.Literal("queued"),
    position: Schema.NonNegativeInt,
    /** Set while the provider of a model asked for a pause: until when, in milliseconds since 1970. */
    pause: Schema.optional(Schema.Struct({ until: Schema.Number, origin: Schema.String }))
  }),
  Schema.Struct({ type: Schema.Literal("busy"), step: Schema.NonNegativeInt }),
  Schema.Struct({ type: Schema.Literal("compacting") }),
  Schema.Struct({
    type: Schema.Literal("waiting"),
    /** The exhausted field of the budget, which running requests and tasks may release. */
    which: Schema.Literal("tokens", "usd", "steps"),
    message: Schema.String
  }),
  Schema.Struct({
    type: Schema.Literal("retry"),
    attempt: Schema.Positive,
    message: Schema.String,
    /** When the next try begins, in milliseconds since 1970. */
    next: Schema.Number
  }),
  Schema.Struct({ type: Schema.Literal("away"), host: Schema.String, directory: Schema.String }),
  /** No server of the cluster can continue the tree, for this cause. Servers try again from time to time. */
  Schema.Struct({ type: Schema.Literal("stuck"), cause: Schema.String }),
  Schema.Struct({ type: Schema.Literal("elsewhere"), url: Schema.optional(Schema.String) })
)
/** The type of a session's status. */
export type SessionStatus = typeof SessionStatus.Type

/** Whether nothing works in a session with this status. */
export const isAtRest = ({ type }: SessionStatus): boolean => type === "idle" || type === "away" || type === "stuck"
