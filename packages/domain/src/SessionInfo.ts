/** Decides what is known of a session. */
import * as Schema from "effect/Schema"
import { Account } from "./Budget.ts"
import { MessageID, SessionID } from "./Id.ts"
import { Mode } from "./Mode.ts"
import { ModelRef } from "./Model.ts"
import { Ruleset } from "./Rule.ts"
import { Usage } from "./Usage.ts"

/** The version of the shape in which sessions, messages and parts are stored. */
export const version = 1

/** The summary of a session, in a few lines that a model wrote. */
export const SessionSummary = Schema.Struct({
  text: Schema.NonEmptyString,
  /** The files that the session and those below it changed, as they named them, the latest change last; the last 100. */
  files: Schema.Array(Schema.String),
  /** The last message of the session that it covers. */
  until: MessageID,
  /** When it was written, in milliseconds since 1970. */
  time: Schema.Number
})
/** The type of a summary. */
export interface SessionSummary extends Schema.Schema.Type<typeof SessionSummary> {}

/** A turn as it is stored: what a crash left without an end goes on when the session is next taken up. */
export const SessionTurn = Schema.Struct({
  began: Schema.Number,
  /** Its first message; absent where it was stopped before it had one. */
  first: Schema.optional(MessageID),
  /** Absent while it is under way. */
  ended: Schema.optional(
    Schema.Struct({
      at: Schema.Number,
      how: Schema.Literal("completed", "denied", "steps", "stopped", "failed"),
      /** Of a turn that is being stopped: calls of it may still be open. */
      unclosed: Schema.optional(Schema.Literal(true)),
      error: Schema.optional(Schema.Struct({ tag: Schema.String, message: Schema.String })),
      /** The budget that was used up, where that is the error. */
      which: Schema.optional(Schema.Literal("steps", "tokens", "usd", "time"))
    })
  )
})
/** The type of a turn as it is stored. */
export interface SessionTurn extends Schema.Schema.Type<typeof SessionTurn> {}

/** One conversation: a working directory, a current agent, one parent at most. Times are milliseconds since 1970. */
export const SessionInfo = Schema.Struct({
  id: SessionID,
  parentID: Schema.optional(SessionID),
  rootID: SessionID,
  /** 0 at the root, one more at each level below it. */
  depth: Schema.NonNegativeInt,
  projectID: Schema.String,
  directory: Schema.String,
  /** Set where the session works in a worktree of its own: then `directory` is in it. */
  worktree: Schema.optional(Schema.Struct({ root: Schema.String, branch: Schema.String })),
  title: Schema.String,
  summary: Schema.optional(SessionSummary),
  agent: Schema.String,
  /** Of a root: how much its tree may do without a question. */
  mode: Schema.optional(Mode),
  /** In the mode `plan`: the agent that works again when the mode ends. */
  agentBefore: Schema.optional(Schema.String),
  model: Schema.optional(ModelRef),
  /** The system prompt that it has instead of the one of its agent, for as long as that is the agent. */
  prompt: Schema.optional(Schema.Struct({ agent: Schema.String, text: Schema.String })),
  /** The session's own rules, which it and everything below it cannot exceed. */
  permission: Ruleset,
  /** `own`: of this session's requests; `subtree`: of it and everything below it, children that were deleted included. */
  usage: Schema.Struct({ own: Usage, subtree: Usage }),
  /** What it and everything below it may use, and have used of that. */
  budget: Schema.optional(Account),
  /** The turn that is under way, or the last one; a stop is told here before anything is stopped. */
  turn: Schema.optional(SessionTurn),
  version: Schema.Int,
  time: Schema.Struct({
    created: Schema.Number,
    updated: Schema.Number,
    archived: Schema.optional(Schema.Number)
  })
})
/** The type of a session's data. */
export interface SessionInfo extends Schema.Schema.Type<typeof SessionInfo> {}

/** What a session is doing: nothing, waiting for a slot, working, being summarised, waiting for budget, or waiting before it tries a request again. */
export const SessionStatus = Schema.Union(
  Schema.Struct({ type: Schema.Literal("idle") }),
  Schema.Struct({ type: Schema.Literal("queued"), position: Schema.NonNegativeInt }),
  Schema.Struct({ type: Schema.Literal("busy"), step: Schema.NonNegativeInt }),
  Schema.Struct({ type: Schema.Literal("compacting") }),
  Schema.Struct({
    type: Schema.Literal("waiting"),
    /** The budget of which others hold what it needs. */
    which: Schema.Literal("tokens", "usd", "steps"),
    message: Schema.String
  }),
  Schema.Struct({
    type: Schema.Literal("retry"),
    attempt: Schema.Positive,
    message: Schema.String,
    /** When the next try begins, in milliseconds since 1970. */
    next: Schema.Number
  })
)
/** The type of a session's status. */
export type SessionStatus = typeof SessionStatus.Type
