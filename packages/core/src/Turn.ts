/** What callers of sessions give, and what they get: options of sessions and prompts, turns, and why there is none. */
import type { Budget } from "@skein/domain/Budget"
import type { Event, EventProperties } from "@skein/domain/Event"
import { type MessageID, SessionID } from "@skein/domain/Id"
import type { AssistantMessage } from "@skein/domain/Message"
import type { Mode } from "@skein/domain/Mode"
import type { ModelRef } from "@skein/domain/Model"
import type { Part } from "@skein/domain/Part"
import type { Ruleset } from "@skein/domain/Rule"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { Usage } from "@skein/domain/Usage"
import * as Schema from "effect/Schema"
import type { AgentNotFound } from "./Agent.ts"
import type { HookRefused } from "./Hooks.ts"
import type { ProjectUnavailable } from "./Projects.ts"
import type { ModelError, ModelUnavailable } from "./Provider.ts"
import type { StorageError } from "./StorageError.ts"
import type { Keyed } from "./Write.ts"

/** No session has this id. */
export class SessionNotFound extends Schema.TaggedError<SessionNotFound>()("SessionNotFound", {
  id: Schema.String,
  message: Schema.String
}) {}

/** The session was stopped before it answered. */
export class SessionStopped extends Schema.TaggedError<SessionStopped>()("SessionStopped", {
  id: SessionID,
  message: Schema.String
}) {}

/** The prompt is not acceptable as it is. */
export class PromptInvalid extends Schema.TaggedError<PromptInvalid>()("PromptInvalid", {
  message: Schema.String
}) {}

/** The model did not give an answer of the requested schema; `last` is its last attempt. */
export class InvalidAnswer extends Schema.TaggedError<InvalidAnswer>()("InvalidAnswer", {
  message: Schema.String,
  last: Schema.String,
  /** The task, and what it used, if this is the end of one. */
  taskID: Schema.optional(SessionID),
  usage: Schema.optional(Usage)
}) {}

/** A session has no new summary; an earlier one stays. */
export class SummaryFailed extends Schema.TaggedError<SummaryFailed>()("SummaryFailed", {
  id: SessionID,
  reason: Schema.Literal(
    /** The session has no messages yet. */
    "nothing_said",
    /** No agent or model is available to write it. */
    "unavailable",
    /** The model failed, refused, or gave an empty answer. */
    "model"
  ),
  message: Schema.String
}) {}

/** A conversation exceeds its model's context, and cannot be compacted. */
export class ContextOverflow extends Schema.TaggedError<ContextOverflow>()("ContextOverflow", {
  id: SessionID,
  /** The model, as `provider/model`. */
  model: Schema.String,
  /** How often compaction was tried. */
  tries: Schema.NonNegativeInt,
  message: Schema.String
}) {}

/** A conversation was not compacted; it is unchanged. */
export class CompactionFailed extends Schema.TaggedError<CompactionFailed>()("CompactionFailed", {
  id: SessionID,
  reason: Schema.Literal(
    /** A turn is running, which compacts automatically. */
    "at_work",
    /** A summary would not be shorter. */
    "nothing_to_do",
    /** No agent or model is available to summarise it. */
    "unavailable",
    /** The model failed, refused, or gave an empty answer. */
    "model"
  ),
  message: Schema.String
}) {}

/** A session cannot be copied as requested. */
export class ForkRefused extends Schema.TaggedError<ForkRefused>()("ForkRefused", {
  id: SessionID,
  reason: Schema.Literal(
    /** It has a running turn or task. */
    "at_work",
    /** The session has no such last message. */
    "unknown_message"
  ),
  message: Schema.String
}) {}

/** A budget that limits nothing, or that no request can meet. */
export class BudgetInvalid extends Schema.TaggedError<BudgetInvalid>()("BudgetInvalid", {
  message: Schema.String
}) {}

/** A session's budget is exhausted, so no more requests are sent; `text` is what it said until then. */
export class BudgetExhausted extends Schema.TaggedError<BudgetExhausted>()("BudgetExhausted", {
  /** The session with that budget, where it is known: this one, or one above it. */
  holder: Schema.optional(SessionID),
  which: Schema.Literal("tokens", "usd", "steps", "time", "tasks"),
  /** The limit with its unit, such as `5 steps`. */
  amount: Schema.optional(Schema.String),
  text: Schema.String,
  /** The task, and what it used, if this is the end of one. */
  taskID: Schema.optional(SessionID),
  usage: Schema.optional(Usage),
  message: Schema.String
}) {}

/** The error for a session that was stopped first. */
export const stoppedBefore = (id: SessionID, what: string) =>
  new SessionStopped({ id, message: `The session ${id} was stopped before ${what}. What it did is kept.` })

/** The error for an unknown session. */
export const notFound = (id: string) =>
  new SessionNotFound({ id, message: `There is no session ${id}. See \`skein sessions\`.` })

/** The options of a new session. */
export interface SessionOptions {
  /** The working directory, absolute. */
  readonly directory: string
  /** The agent's name; by default `default_agent` of the config. */
  readonly agent?: string
  /**
   * How much it may do without asking, together with everything below it. By default `plan` for the agent `plan`, else
   * `ask`.
   */
  readonly mode?: Mode
  readonly model?: ModelRef
  readonly title?: string
  /** The project whose approvals apply; by default the directory. */
  readonly projectID?: string
  /** Rules that the session and everything below it cannot exceed. */
  readonly permission?: Ruleset
  /** What it may use, with everything below it, until you set another budget; by default `budget` of the config. */
  readonly budget?: Budget
  /** Stored with the session, for senders who may send the request twice; see `SessionStorage.receipt`. */
  readonly receipt?: Keyed
}

/** The options of a copy of a session. */
export interface ForkOptions {
  /** The last message that is copied; by default all are. */
  readonly messageID?: MessageID
  /** Stored with the copy, for senders who may send the request twice; see `SessionStorage.receipt`. */
  readonly receipt?: Keyed
}

/** The options of a child session. */
export interface ChildOptions {
  readonly agent: string
  readonly title: string
  readonly model?: ModelRef
  /** A system prompt that replaces the agent's. */
  readonly prompt?: string
  readonly permission: Ruleset
  /** Where it works, if not in its parent's directory. */
  readonly place?: Pick<SessionInfo, "directory" | "worktree">
}

/** How one prompt differs from the session's defaults. */
export interface PromptOptions {
  /** The agent from this prompt on. */
  readonly agent?: string
  /** The model from this prompt on. */
  readonly model?: ModelRef
  /** Added to the agent's system prompt for this turn. */
  readonly system?: string
  /** The variant of the model, such as its effort. */
  readonly variant?: string
  /** Marks a prompt as written by an agent, not a person: the count of repeated calls continues. */
  readonly from?: "agent"
  /** Tools to withhold (`false`) in this turn. */
  readonly tools?: Readonly<Record<string, boolean>>
  /** Replaces the session's budget from now on, for it and everything below it. */
  readonly budget?: Budget
  /** The command that the prompt came from: published as `command.executed`. */
  readonly command?: EventProperties<"command.executed">
  /** The receipt to store with the prompt, for clients that may send it twice; see `SessionStorage.receipt`. */
  readonly receipt?: Keyed
  /** `turn`: a session at work does not read it at its next step, but after its turn. It can be withdrawn until then. */
  readonly after?: "turn"
  /** Called before the prompt is stored. An interruption that comes later stops the turn that the prompt joins. */
  readonly onStoring?: () => void
  /** Called with the id of the prompt's message once the prompt is durable, before it is answered. */
  readonly onStored?: (id: MessageID) => void
  /**
   * The schema of the answer, instead of that of the agent's definition: `Turn.output` is then a value of it. See `ask`
   * for the typed way.
   */
  // oxlint-disable-next-line typescript/no-explicit-any -- what the model sends is unknown until it has been decoded
  readonly output?: Schema.Schema<any, any>
}

/** The outcome of a withdrawal: the text of the prompt, or that it no longer waits. */
export type Withdrawal =
  | { readonly status: "withdrawn"; readonly text: string }
  /** An agent has it, or somebody else has withdrawn it. */
  | { readonly status: "gone" }

/** How a turn ended, other than by an error. */
export type TurnEnd =
  /** The model answered without further calls. */
  | "completed"
  /** A person rejected a call without a reason, or the agent repeated itself and nobody allowed it. */
  | "denied"
  /** The agent's step limit was reached; the text is what it had so far. */
  | "steps"

/** A turn: everything from a prompt until the loop was idle. */
export interface Turn {
  readonly sessionID: SessionID
  /** The last assistant message. */
  readonly info: AssistantMessage
  readonly parts: ReadonlyArray<Part>
  /** The structured output as JSON, if there is one; else all texts of that message, with a blank line between them. */
  readonly text: string
  readonly end: TurnEnd
  /** The structured output that the prompt or the agent's definition asks for; absent if neither does. */
  readonly output?: unknown
  /** The usage of the turn, by this session and everything below it. */
  readonly usage: Usage
}

/** What happens in a turn, in this session and below it; the last one is how the turn ended. */
export type TurnEvent = Event | { readonly type: "turn.ended"; readonly turn: Turn }

/** Why a prompt has no answer. */
export type PromptError =
  | BudgetExhausted
  | BudgetInvalid
  | ContextOverflow
  | HookRefused
  | SessionNotFound
  | SessionStopped
  | PromptInvalid
  | InvalidAnswer
  | AgentNotFound
  | ModelUnavailable
  | ProjectUnavailable
  | ModelError
  | StorageError
