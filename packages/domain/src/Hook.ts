/** Defines the payloads of hooks and their answers: the JSON of shell hooks, and the types for hooks of a program. */
import * as Schema from "effect/Schema"
import { PermissionRequest } from "./Event.ts"
import { SessionID } from "./Id.ts"

/** The fields of every payload. */
const place = {
  sessionID: SessionID,
  rootID: SessionID,
  /** The names of the agents from the root to the one of the event. */
  path: Schema.Array(Schema.String),
  /** The session's working directory, absolute. */
  cwd: Schema.String
}

/** How something ended: its text, or the message of its error if `failed`. */
const end = { output: Schema.String, failed: Schema.optional(Schema.Literal(true)) }

/** The id that the model gave a call. */
const callID = Schema.optional(Schema.String)

const call = { tool: Schema.String, input: Schema.Unknown, callID }

/** `input` holds the arguments of the call that asks, if there is one. */
const question = { tool: Schema.String, request: PermissionRequest, input: Schema.optional(Schema.Unknown), callID }

const payload = <E extends string, F extends Schema.Struct.Fields>(event: E, fields: F) =>
  Schema.Struct({ event: Schema.Literal(event), ...place, ...fields })

/** The payload of each event. */
export const hookPayloads = {
  /**
   * The first prompt of a root session since this process opened it: a new session (`startup`), or one with messages
   * (`resume`). Also sent after compaction (`compact`).
   */
  SessionStart: payload("SessionStart", { source: Schema.Literal("startup", "resume", "compact") }),
  /** This process closes a root session that it has prompted. The session can be resumed later. */
  SessionEnd: payload("SessionEnd", {}),
  /** A prompt of a root session, before it is stored. */
  UserPromptSubmit: payload("UserPromptSubmit", { prompt: Schema.String }),
  /** A call as the model wrote it, before it is checked; `input` is a string if it is not JSON. */
  PreToolUse: payload("PreToolUse", call),
  /** A call needs permission, and no rule grants it. */
  PermissionRequest: payload("PermissionRequest", question),
  /** A call has ended or failed. A denied call was not made, and has no such event. */
  PostToolUse: payload("PostToolUse", { ...call, ...end }),
  /** A subagent begins to work. */
  SubagentStart: payload("SubagentStart", { prompt: Schema.String }),
  /** A run of a subagent is about to end; `again` if a hook of this event has already continued it. */
  SubagentStop: payload("SubagentStop", { ...end, again: Schema.optional(Schema.Literal(true)) }),
  /** A turn of a root session has ended; `again` if a hook of this event started that turn. */
  Stop: payload("Stop", { ...end, again: Schema.optional(Schema.Literal(true)) }),
  /** A conversation is about to be compacted: automatically (`auto`), or on request. */
  PreCompact: payload("PreCompact", { trigger: Schema.Literal("auto", "manual") }),
  /** A person is needed: a question is open, or is denied because Skein cannot ask anyone. */
  Notification: payload("Notification", question)
}

/** The name of an event. */
export type HookEvent = keyof typeof hookPayloads

/** All events. */
export const hookEvents = Object.keys(hookPayloads) as ReadonlyArray<HookEvent>

/** Other names of events. */
export const hookAliases = {
  "tool.execute.before": "PreToolUse",
  "tool.execute.after": "PostToolUse"
} as const satisfies Readonly<Record<string, HookEvent>>

/** A name under which you can listen to an event. */
export type HookName = HookEvent | keyof typeof hookAliases

/** The event that a name stands for. */
export type HookEventOf<N extends HookName> = N extends keyof typeof hookAliases ? (typeof hookAliases)[N]
  : N & HookEvent

/** The event that a name stands for. */
export const hookEventOf = (name: HookName): HookEvent =>
  name in hookAliases ? hookAliases[name as keyof typeof hookAliases] : name as HookEvent

/** The payload of a hook of this event. */
export type HookPayload<E extends HookEvent = HookEvent> = (typeof hookPayloads)[E]["Type"]

const reason = Schema.optional(Schema.String)

const answer = <D extends ReadonlyArray<"allow" | "deny" | "ask">, F extends Schema.Struct.Fields>(
  decisions: D,
  fields: F
) => Schema.Struct({ decision: Schema.optional(Schema.Literal(...decisions)), reason, ...fields })

const context = { context: Schema.optional(Schema.String) }

/** Ends the turn once the calls of this step are done. */
const endsTurn = { endsTurn: Schema.optional(Schema.Literal(true)) }

const onlyListens = answer(["allow"], {})

/** The possible answers of a hook for each event; an empty answer means no opinion. */
export const hookAnswers = {
  /** The model reads `context` with the prompt. */
  SessionStart: answer(["allow"], context),
  SessionEnd: onlyListens,
  /** `deny`: the prompt is refused. The model reads `context` with the prompt. */
  UserPromptSubmit: answer(["allow", "deny"], context),
  /**
   * `deny`: the call is not made; `ask`: a person must consent; `input` replaces the arguments; `consent`: nobody is
   * asked, and what rules deny stays denied. The model reads `context` below the result.
   */
  PreToolUse: answer(["allow", "deny", "ask"], {
    ...context,
    ...endsTurn,
    input: Schema.optional(Schema.Unknown),
    consent: Schema.optional(Schema.Literal(true))
  }),
  /**
   * `allow` and `deny` answer the question; `ask` leaves it to a person. With `allow`, `input` replaces the arguments
   * of the call, which the rules check again.
   */
  PermissionRequest: answer(["allow", "deny", "ask"], { ...endsTurn, input: Schema.optional(Schema.Unknown) }),
  /** `output` replaces the call's output; `deny`: the model reads the reason instead. */
  PostToolUse: answer(["allow", "deny"], { ...endsTurn, output: Schema.optional(Schema.String) }),
  /** The subagent reads `context` with its prompt. */
  SubagentStart: answer(["allow"], context),
  /** `deny`: the subagent continues with the reason as its prompt, if its turn has ended well. */
  SubagentStop: answer(["allow", "deny"], {}),
  /** `deny`: another turn begins, with the reason as its prompt. */
  Stop: answer(["allow", "deny"], {}),
  PreCompact: onlyListens,
  Notification: onlyListens
} satisfies Readonly<Record<HookEvent, unknown>>

/** The answer of a hook of this event. */
export type HookAnswer<E extends HookEvent = HookEvent> = (typeof hookAnswers)[E]["Type"]
