/** Defines messages: the prompts, and the answers of models. */
import * as Schema from "effect/Schema"
import { MessageID, SessionID } from "./Id.ts"
import { ModelRef } from "./Model.ts"
import { Usage } from "./Usage.ts"

/** An error as it is stored and sent: a machine-readable tag and a sentence for people. */
export const ErrorInfo = Schema.Struct({ tag: Schema.String, message: Schema.String })
/** The type of a stored error. */
export interface ErrorInfo extends Schema.Schema.Type<typeof ErrorInfo> {}

/** Why a model stopped. After a `pause` it continues. */
export const FinishReason = Schema.Literal("stop", "tool-calls", "length", "pause", "content-filter", "error", "other")
/** The type of a finish reason. */
export type FinishReason = typeof FinishReason.Type

/** A message to the model: from a person, a caller or the runtime. */
export const UserMessage = Schema.Struct({
  id: MessageID,
  sessionID: SessionID,
  role: Schema.Literal("user"),
  /** The id that its prompt was stored with, if a younger message was there when it was read. */
  promptID: Schema.optional(MessageID),
  /** Set if an agent wrote the message: the prompt of a task, or a message to it. */
  from: Schema.optional(Schema.Literal("agent")),
  agent: Schema.String,
  model: Schema.optional(ModelRef),
  variant: Schema.optional(Schema.String),
  /** Added to the agent's system prompt while this message is answered. */
  system: Schema.optional(Schema.String),
  /** Tools that are withheld (`false`) while this message is answered. */
  tools: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Boolean })),
  time: Schema.Struct({ created: Schema.Number })
})
/** The type of a user message. */
export interface UserMessage extends Schema.Schema.Type<typeof UserMessage> {}

/** A model's message, which is one step. */
export const AssistantMessage = Schema.Struct({
  id: MessageID,
  sessionID: SessionID,
  role: Schema.Literal("assistant"),
  /** The user message that this answers. */
  parentID: MessageID,
  agent: Schema.String,
  providerID: Schema.String,
  modelID: Schema.String,
  path: Schema.Struct({ cwd: Schema.String, root: Schema.String }),
  usage: Usage,
  finish: Schema.optional(FinishReason),
  error: Schema.optional(ErrorInfo),
  time: Schema.Struct({ created: Schema.Number, completed: Schema.optional(Schema.Number) })
})
/** The type of an assistant message. */
export interface AssistantMessage extends Schema.Schema.Type<typeof AssistantMessage> {}

/** Says which limit of steps ended the turn of this answer. */
export const stepLimitOf = ({ agent, error }: AssistantMessage): string =>
  error?.message ?? `The agent ${agent} reached its limit of steps.`

/** A message of either side. */
export const Message = Schema.Union(UserMessage, AssistantMessage)
/** The type of a message. */
export type Message = typeof Message.Type
