/** Reads what a hook of Claude Code has answered, by its exit code and its standard output. */
import { deepest, isTextNested } from "@skein/core/Nesting"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { HookEnd } from "../hookProcess.ts"

/** The events of Claude Code that are told here. */
export type ClaudeEvent =
  | "SessionStart"
  | "UserPromptSubmit"
  | "PreToolUse"
  | "PostToolUse"
  | "PostToolUseFailure"
  | "PreCompact"
  | "Notification"
  | "Stop"
  | "SubagentStart"
  | "SubagentStop"

/** An answer. */
export interface ClaudeAnswer {
  readonly decision: "allow" | "deny" | "ask" | undefined
  readonly reason: string | undefined
  /** Why all work should end: `continue` was false. */
  readonly ends: string | undefined
  readonly input: Readonly<Record<string, unknown>> | undefined
  /** What the model is told besides. */
  readonly context: string | undefined
  /** What the user is told. */
  readonly message: string | undefined
  /** Fields that mean nothing here. */
  readonly unknown: ReadonlyArray<string>
}

const text = Schema.optional(Schema.String)

const common = {
  continue: Schema.optional(Schema.Boolean),
  stopReason: text,
  suppressOutput: Schema.optional(Schema.Boolean),
  systemMessage: text,
  decision: Schema.optional(Schema.Literal("approve", "block")),
  reason: text
}

const specific = {
  hookEventName: text,
  additionalContext: text,
  permissionDecision: Schema.optional(Schema.Literal("allow", "deny", "ask")),
  permissionDecisionReason: text,
  updatedInput: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
}

const Answer = Schema.Struct({ ...common, hookSpecificOutput: Schema.optional(Schema.Struct(specific)) })

const json = Schema.decodeUnknownEither(Schema.parseJson())
const decode = Schema.decodeUnknownEither(Answer, { errors: "first" })

const nothing: ClaudeAnswer = {
  decision: undefined,
  reason: undefined,
  ends: undefined,
  input: undefined,
  context: undefined,
  message: undefined,
  unknown: []
}

const decisions = { approve: "allow", block: "deny" } as const

/** What each event hears of what can be said; the rest is told once. */
const heard: Readonly<Record<ClaudeEvent, ReadonlySet<string>>> = {
  SessionStart: new Set(["additionalContext"]),
  UserPromptSubmit: new Set(["decision", "reason", "additionalContext", "continue", "stopReason"]),
  PreToolUse: new Set([
    "decision",
    "reason",
    "continue",
    "stopReason",
    "permissionDecision",
    "permissionDecisionReason",
    "updatedInput"
  ]),
  PostToolUse: new Set(["decision", "reason", "continue", "stopReason", "additionalContext"]),
  PostToolUseFailure: new Set(["decision", "reason", "continue", "stopReason", "additionalContext"]),
  PreCompact: new Set(),
  Notification: new Set(),
  Stop: new Set(["decision", "reason", "continue", "stopReason"]),
  SubagentStart: new Set(),
  SubagentStop: new Set()
}

const always = new Set(["suppressOutput", "systemMessage", "hookSpecificOutput", "hookEventName"])

const said = (value: unknown): ReadonlyArray<string> =>
  typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => key === "hookSpecificOutput" ? [key, ...said(inner)] : [key])
    : []

const answerIn = (event: ClaudeEvent, stdout: string): Either.Either<ClaudeAnswer, string> => {
  if (isTextNested(stdout)) return Either.left(`its answer is nested more than ${deepest} levels deep`)
  const value = json(stdout)
  if (Either.isLeft(value)) return Either.left("its answer begins with { and is not JSON")
  const decoded = decode(value.right)
  if (Either.isLeft(decoded)) return Either.left(`its answer cannot be understood: ${decoded.left.message}`)
  const { decision, hookSpecificOutput: own = {}, reason, stopReason, systemMessage, ...rest } = decoded.right
  if (own.hookEventName !== undefined && own.hookEventName !== event) {
    return Either.left(`its answer is one to ${own.hookEventName}`)
  }
  // What goes on needs no word: only `false` says anything.
  const goesOn = rest.continue !== false
  return Either.right({
    decision: own.permissionDecision ?? (decision === undefined ? undefined : decisions[decision]),
    reason: own.permissionDecisionReason ?? reason,
    ends: goesOn ? undefined : stopReason ?? "A hook has ended the work.",
    input: own.updatedInput,
    context: own.additionalContext,
    message: systemMessage,
    unknown: said(value.right).filter((key) =>
      !always.has(key) && !heard[event].has(key) && !(goesOn && (key === "continue" || key === "stopReason"))
    )
  })
}

/** Reads an answer; `left` says why it cannot be understood, or how the hook has failed. */
export const claudeAnswer = (
  event: ClaudeEvent,
  { code, signal, stderr, stdout }: HookEnd
): Either.Either<ClaudeAnswer, string> => {
  if (code === 2) return Either.right({ ...nothing, decision: "deny", reason: stderr.trim() })
  if (code !== 0) {
    const how = code === null ? `it was ended by ${signal}` : `it ended with exit code ${code}`
    return Either.left(stderr.trim() === "" ? how : `${how}: ${stderr.trim()}`)
  }
  if (stdout.trimStart().startsWith("{")) return answerIn(event, stdout)
  // There text is for the model; elsewhere nobody reads it.
  const forModel = event === "UserPromptSubmit" || event === "SessionStart"
  return Either.right(forModel && stdout.trim() !== "" ? { ...nothing, context: stdout.trim() } : nothing)
}
