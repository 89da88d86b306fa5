/** Defines the parts of messages, and the states of a tool call. */
import * as Schema from "effect/Schema"
import { MessageID, PartID, SessionID } from "./Id.ts"
import { ErrorInfo, FinishReason } from "./Message.ts"
import { Mode } from "./Mode.ts"
import { ModelRef } from "./Model.ts"
import { Ruleset } from "./Rule.ts"
import { Reserved, Usage } from "./Usage.ts"

const base = { id: PartID, sessionID: SessionID, messageID: MessageID }
const Metadata = Schema.Record({ key: Schema.String, value: Schema.Unknown })
const Span = Schema.Struct({ start: Schema.Number, end: Schema.optional(Schema.Number) })

/**
 * Text of a user or a model. `synthetic` text was written by the runtime, or came with a prompt that a person typed;
 * `partial` text was cut off by an error.
 */
export const TextPart = Schema.Struct({
  ...base,
  type: Schema.Literal("text"),
  text: Schema.String,
  synthetic: Schema.optional(Schema.Boolean),
  partial: Schema.optional(Schema.Boolean),
  /** What the model's provider wants back with it, such as a signature. */
  metadata: Schema.optional(Metadata),
  time: Schema.optional(Span)
})
/** The type of a text part. */
export interface TextPart extends Schema.Schema.Type<typeof TextPart> {}

/** Reasoning of a model before its answer. */
export const ReasoningPart = Schema.Struct({
  ...base,
  type: Schema.Literal("reasoning"),
  text: Schema.String,
  partial: Schema.optional(Schema.Boolean),
  metadata: Schema.optional(Metadata),
  time: Schema.optional(Span)
})
/** The type of a reasoning part. */
export interface ReasoningPart extends Schema.Schema.Type<typeof ReasoningPart> {}

/** A file for the model; `url` is a `data:` URL or names a file. */
export const FilePart = Schema.Struct({
  ...base,
  type: Schema.Literal("file"),
  mime: Schema.String,
  filename: Schema.optional(Schema.String),
  url: Schema.String
})
/** The type of a file part. */
export interface FilePart extends Schema.Schema.Type<typeof FilePart> {}

/**
 * The model requested a call, and nothing has run. `input` is the text that the model wrote; `fault` is why its server did
 * not accept the call.
 */
export const ToolPending = Schema.Struct({
  status: Schema.Literal("pending"),
  input: Schema.String,
  fault: Schema.optional(Schema.String)
})
/** The type of a pending tool state. */
export interface ToolPending extends Schema.Schema.Type<typeof ToolPending> {}

/** The intent is stored and the effect may have begun. */
export const ToolRunning = Schema.Struct({
  status: Schema.Literal("running"),
  input: Schema.Unknown,
  title: Schema.optional(Schema.String),
  metadata: Schema.optional(Metadata),
  time: Schema.Struct({ start: Schema.Number })
})
/** The type of a running tool state. */
export interface ToolRunning extends Schema.Schema.Type<typeof ToolRunning> {}

/** A file that a tool returns to the model. */
export const Attachment = Schema.Struct({
  mime: Schema.String,
  filename: Schema.optional(Schema.String),
  url: Schema.String
})
/** The type of an attachment. */
export interface Attachment extends Schema.Schema.Type<typeof Attachment> {}

/** The call ended with a result. */
export const ToolCompleted = Schema.Struct({
  status: Schema.Literal("completed"),
  input: Schema.Unknown,
  output: Schema.String,
  title: Schema.String,
  metadata: Metadata,
  attachments: Schema.optional(Schema.Array(Attachment)),
  time: Schema.Struct({ start: Schema.Number, end: Schema.Number })
})
/** The type of a completed tool state. */
export interface ToolCompleted extends Schema.Schema.Type<typeof ToolCompleted> {}

/** The call ended without a result: it was refused, failed, or was interrupted. */
export const ToolFailed = Schema.Struct({
  status: Schema.Literal("error"),
  input: Schema.Unknown,
  error: ErrorInfo,
  metadata: Schema.optional(Metadata),
  time: Schema.optional(Schema.Struct({ start: Schema.Number, end: Schema.Number }))
})
/** The type of a failed tool state. */
export interface ToolFailed extends Schema.Schema.Type<typeof ToolFailed> {}

/** A call moves from `pending` to `running` to `completed` or `error`, and never back. */
export const ToolState = Schema.Union(ToolPending, ToolRunning, ToolCompleted, ToolFailed)
/** The type of a tool state. */
export type ToolState = typeof ToolState.Type

/** What recovery does with a call after a crash: run it again, check its effect first, or never run it again. */
export const EffectClass = Schema.Literal("safe", "verify", "never")
/** The type of an effect class. */
export type EffectClass = typeof EffectClass.Type

/** What is about to be done, stored before it begins. */
export const Intent = Schema.Struct({
  effect: EffectClass,
  /** A hash of the tool's name and its canonical arguments. */
  hash: Schema.String,
  attempt: Schema.Positive,
  epoch: Schema.NonNegativeInt,
  /** Set if the process that stored it left the tree before the effect began. */
  begun: Schema.optional(Schema.Literal(false))
})
/** The type of an intent. */
export interface Intent extends Schema.Schema.Type<typeof Intent> {}

/** The rules that allowed a call, had it asked about or denied it, and the mode at that time. */
export const Decision = Schema.Struct({ mode: Mode, rules: Ruleset })
/** The type of a decision. */
export interface Decision extends Schema.Schema.Type<typeof Decision> {}

/** A tool call of a model and its state. `callID` is the model's id for it, unique only in its message. */
export const ToolPart = Schema.Struct({
  ...base,
  type: Schema.Literal("tool"),
  callID: Schema.String,
  /** The id under which models know the call, if it is not the part's own: a copy keeps the id of its original. */
  sentAs: Schema.optional(Schema.String.pipe(Schema.pattern(/^[\w-]{1,64}$/))),
  tool: Schema.String,
  state: ToolState,
  /** What the model's provider wants back with the call, such as a signature. */
  metadata: Schema.optional(Metadata),
  intent: Schema.optional(Intent),
  /** Absent if no rule decided that somebody wrote: defaults, the sandbox, an approval or a person did. */
  decision: Schema.optional(Decision)
})
/** The type of a tool part. */
export interface ToolPart extends Schema.Schema.Type<typeof ToolPart> {}

/** A subagent that a user or a command requested: it runs without asking the model. */
export const SubtaskPart = Schema.Struct({
  ...base,
  type: Schema.Literal("subtask"),
  prompt: Schema.String,
  description: Schema.String,
  agent: Schema.String,
  command: Schema.optional(Schema.String),
  model: Schema.optional(ModelRef)
})
/** The type of a subtask part. */
export interface SubtaskPart extends Schema.Schema.Type<typeof SubtaskPart> {}

/** A model request began. It is out while its message is not completed and this has a reservation. */
export const StepStartPart = Schema.Struct({
  ...base,
  type: Schema.Literal("step-start"),
  reserved: Schema.optional(Reserved)
})
/** The type of a step-start part. */
export interface StepStartPart extends Schema.Schema.Type<typeof StepStartPart> {}

/** A model request ended. */
export const StepFinishPart = Schema.Struct({
  ...base,
  type: Schema.Literal("step-finish"),
  usage: Usage,
  finish: FinishReason
})
/** The type of a step-finish part. */
export interface StepFinishPart extends Schema.Schema.Type<typeof StepFinishPart> {}

/** A model request failed and is retried at `next`, in milliseconds since 1970. */
export const RetryPart = Schema.Struct({
  ...base,
  type: Schema.Literal("retry"),
  attempt: Schema.Positive,
  error: ErrorInfo,
  next: Schema.Number
})
/** The type of a retry part. */
export interface RetryPart extends Schema.Schema.Type<typeof RetryPart> {}

/**
 * The summary in this message replaces earlier messages in requests; `auto` if nobody requested it. The messages from
 * `keptFrom` on are sent unchanged; if absent, none before this one is.
 */
export const CompactionPart = Schema.Struct({
  ...base,
  type: Schema.Literal("compaction"),
  auto: Schema.Boolean,
  keptFrom: Schema.optional(MessageID)
})
/** The type of a compaction part. */
export interface CompactionPart extends Schema.Schema.Type<typeof CompactionPart> {}

/** The user asked for this agent by name. */
export const AgentPart = Schema.Struct({ ...base, type: Schema.Literal("agent"), name: Schema.String })
/** The type of an agent part. */
export interface AgentPart extends Schema.Schema.Type<typeof AgentPart> {}

/** A piece of a message. */
export const Part = Schema.Union(
  TextPart,
  ReasoningPart,
  FilePart,
  ToolPart,
  SubtaskPart,
  StepStartPart,
  StepFinishPart,
  RetryPart,
  CompactionPart,
  AgentPart
)
/** The type of a part. */
export type Part = typeof Part.Type

/** A part of a prompt, which gets its id when it is stored. */
export const PartInput = Schema.Union(
  TextPart.omit("id", "sessionID", "messageID", "partial", "metadata", "time"),
  FilePart.omit("id", "sessionID", "messageID"),
  SubtaskPart.omit("id", "sessionID", "messageID"),
  AgentPart.omit("id", "sessionID", "messageID")
)
/** The type of a part of a prompt. */
export type PartInput = typeof PartInput.Type

/** How many parts a prompt may have. A step stores a prompt in one commit, so its size is the size of that commit. */
export const mostParts = 1_000

/** A message with its parts, in the order of creation. */
export interface MessageWithParts<out M = import("./Message.ts").Message> {
  readonly info: M
  readonly parts: ReadonlyArray<Part>
}
