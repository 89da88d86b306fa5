/** Decides what hooks are told and what they may answer: the JSON of shell hooks, and the types of those of a program. */
import * as Schema from "effect/Schema"
import { PermissionRequest } from "./Event.ts"
import { SessionID } from "./Id.ts"

/** What every hook is told. */
const place = {
  sessionID: SessionID,
  rootID: SessionID,
  /** The names of the agents from the root to the one that this is about. */
  path: Schema.Array(Schema.String),
  /** The session's working directory, absolute. */
  cwd: Schema.String
}

/** How something ended: what it said, or the message of the error, which `failed` tells apart. */
const end = { output: Schema.String, failed: Schema.optional(Schema.Literal(true)) }

/** The id that the model gave a call. */
const callID = Schema.optional(Schema.String)

const call = { tool: Schema.String, input: Schema.Unknown, callID }

/** `input` holds the arguments of the call that asks, where there is one. */
const question = { tool: Schema.String, request: PermissionRequest, input: Schema.optional(Schema.Unknown), callID }

const payload = <E extends string, F extends Schema.Struct.Fields>(event: E, fields: F) =>
  Schema.Struct({ event: Schema.Literal(event), ...place, ...fields })

/** What is told at each event. */
export const hookPayloads = {
  /**
   * The first prompt of a session at the root since this process opened it: a new session (`startup`), or one with messages
   * (`resume`). Also sent after its conversation was shortened (`compact`).
   */
  SessionStart: payload("SessionStart", { source: Schema.Literal("startup", "resume", "compact") }),
  /** This process closes a session at the root that it has prompted. Someone can resume the session later. */
  SessionEnd: payload("SessionEnd", {}),
  /** A prompt of a session at the root, before it is stored. */
  UserPromptSubmit: payload("UserPromptSubmit", { prompt: Schema.String }),
  /** A call as the model wrote it, before it is checked; `input` is a string where it is no JSON. */
  PreToolUse: payload("PreToolUse", call),
  /** A call needs consent, and no rule gives it. */
  PermissionRequest: payload("PermissionRequest", question),
  /** A call has ended or failed. A denied call was not made, and has no such event. */
  PostToolUse: payload("PostToolUse", { ...call, ...end }),
  /** A subagent begins to work. */
  SubagentStart: payload("SubagentStart", { prompt: Schema.String }),
  /** A run of a subagent is about to end; `again` where it has gone on because a hook of this event wanted it. */
  SubagentStop: payload("SubagentStop", { ...end, again: Schema.optional(Schema.Literal(true)) }),
  /** A turn of a session at the root has ended; `again` where that turn began because a hook of this event wanted it. */
  Stop: payload("Stop", { ...end, again: Schema.optional(Schema.Literal(true)) }),
  /** A conversation is about to be shortened: by itself (`auto`), or because somebody asked for it. */
  PreCompact: payload("PreCompact", { trigger: Schema.Literal("auto", "manual") }),
  /** A person is needed: a question waits, or is refused since nobody can be asked. */
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

/** A name by which an event can be listened to. */
export type HookName = HookEvent | keyof typeof hookAliases

/** The event that a name stands for. */
export type HookEventOf<N extends HookName> = N extends keyof typeof hookAliases ? (typeof hookAliases)[N]
  : N & HookEvent

/** The event that a name stands for. */
export const hookEventOf = (name: HookName): HookEvent =>
  name in hookAliases ? hookAliases[name as keyof typeof hookAliases] : name as HookEvent

/** What a hook of this event is told. */
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

/** What a hook of each event may answer; to answer nothing is to have no opinion. */
export const hookAnswers = {
  /** `context` goes to the model with the prompt. */
  SessionStart: answer(["allow"], context),
  SessionEnd: onlyListens,
  /** `deny`: the prompt is not taken; `context` goes to the model with it. */
  UserPromptSubmit: answer(["allow", "deny"], context),
  /**
   * `deny`: the call is not made; `ask`: not without a person's consent; `input` takes the place of the call's; with
   * `consent` nobody is asked, and what rules deny stays denied. The model reads `context` below the result.
   */
  PreToolUse: answer(["allow", "deny", "ask"], {
    ...context,
    ...endsTurn,
    input: Schema.optional(Schema.Unknown),
    consent: Schema.optional(Schema.Literal(true))
  }),
  /**
   * `allow` and `deny` settle the question; `ask` leaves it to a person. With `allow`, `input` takes the place of the call's
   * arguments, and the rules decide on them anew.
   */
  PermissionRequest: answer(["allow", "deny", "ask"], { ...endsTurn, input: Schema.optional(Schema.Unknown) }),
  /** `output` takes the place of the call's; `deny`: the model reads the reason in its place. */
  PostToolUse: answer(["allow", "deny"], { ...endsTurn, output: Schema.optional(Schema.String) }),
  /** The subagent reads `context` with its prompt. */
  SubagentStart: answer(["allow"], context),
  /** `deny`: the subagent goes on, with the reason as its prompt, where its turn has ended well. */
  SubagentStop: answer(["allow", "deny"], {}),
  /** `deny`: another turn begins, with the reason as its prompt. */
  Stop: answer(["allow", "deny"], {}),
  PreCompact: onlyListens,
  Notification: onlyListens
} satisfies Readonly<Record<HookEvent, unknown>>

/** What a hook of this event may answer. */
export type HookAnswer<E extends HookEvent = HookEvent> = (typeof hookAnswers)[E]["Type"]
