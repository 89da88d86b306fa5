/** A turn: what a prompt may ask for, what it comes to, and how it may fail. */
import type { Budget } from "@skein/domain/Budget"
import type { EventProperties } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { AssistantMessage } from "@skein/domain/Message"
import type { ModelRef } from "@skein/domain/Model"
import type { Part } from "@skein/domain/Part"
import type { Usage } from "@skein/domain/Usage"
import type * as Schema from "effect/Schema"
import type { AgentNotFound } from "./Agent.ts"
import type { HookRefused } from "./HookError.ts"
import type { ProjectUnavailable } from "./Project.ts"
import type { ModelError, ModelUnavailable } from "./Provider.ts"
import type {
  BudgetExhausted,
  BudgetInvalid,
  ContextOverflow,
  OutputInvalid,
  PromptInvalid,
  SessionNotFound,
  SessionStopped
} from "./SessionError.ts"
import type { StorageError } from "./StorageError.ts"

/** How one prompt differs from what the session does anyway. */
export interface PromptOptions {
  /** The agent from this prompt on. */
  readonly agent?: string
  /** The model from this prompt on. */
  readonly model?: ModelRef
  /** Added to the agent's system prompt for this turn. */
  readonly system?: string
  /** The variant of the model, such as its effort. */
  readonly variant?: string
  /** Says that an agent wrote the prompt and no person: the count of repeated calls goes on. */
  readonly from?: "agent"
  /** Tools to withhold (`false`) in this turn. */
  readonly tools?: Readonly<Record<string, boolean>>
  /** What the session may use from now on, with everything below it, in the place of what it might use before. */
  readonly budget?: Budget
  /** The command that the prompt was made of: it is told as `command.executed`. */
  readonly command?: EventProperties<"command.executed">
  /**
   * The form that the answer must have, in the place of that of the agent's definition: `Turn.output` then is a value of it.
   * See `ask` for the typed way.
   */
  // oxlint-disable-next-line typescript/no-explicit-any -- what the model sends is unknown until it has been decoded
  readonly output?: Schema.Schema<any, any>
}

/** How a turn came to its end, other than by an error. */
export type TurnEnd =
  /** The model answered without asking for more calls. */
  | "completed"
  /** A person rejected a call without a message, or the agent repeated itself and nobody allowed it. */
  | "denied"
  /** The agent's limit of steps was reached; the text is what it had by then. */
  | "steps"

/** A turn: everything from a prompt until the loop was idle. */
export interface Turn {
  readonly sessionID: SessionID
  /** The last assistant message. */
  readonly info: AssistantMessage
  readonly parts: ReadonlyArray<Part>
  /** The answer as JSON, where it has a form; else all texts of that message, with a blank line between them. */
  readonly text: string
  readonly end: TurnEnd
  /** The answer in the form that the prompt or the agent's definition asks for; absent where nothing does. */
  readonly output?: unknown
  /** What the turn used, by this session and everything below it. */
  readonly usage: Usage
}

/** Why a prompt has no answer. */
export type PromptError =
  | BudgetExhausted
  | BudgetInvalid
  | ContextOverflow
  | HookRefused
  | SessionNotFound
  | SessionStopped
  | PromptInvalid
  | OutputInvalid
  | AgentNotFound
  | ModelUnavailable
  | ProjectUnavailable
  | ModelError
  | StorageError
