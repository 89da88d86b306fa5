/** Reads the answer of a Claude Code hook from its exit code and its standard output. */
import { deepest, isTextNested } from "@skein/core/Nesting"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { HookEnd } from "../shell/hookProcess.ts"

/** The events of Claude Code whose hooks run here. */
export type ClaudeEvent =
  | "SessionStart"
  | "SessionEnd"
  | "UserPromptSubmit"
  | "PreToolUse"
  | "PermissionRequest"
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
  /** Why the turn should end: `continue` was false, or `interrupt` true. */
  readonly ends: string | undefined
  readonly input: Readonly<Record<string, unknown>> | undefined
  /** Additional text for the model. */
  readonly context: string | undefined
  /** A message for the user. */
  readonly message: string | undefined
  /** Fields that have no effect here. */
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

const input = Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

const specific = {
  hookEventName: text,
  additionalContext: text,
  permissionDecision: Schema.optional(Schema.Literal("allow", "deny", "ask")),
  permissionDecisionReason: text,
  updatedInput: input
}

/** The answer to a question: an object where other events have a word. */
const ruling = Schema.Struct({
  behavior: Schema.Literal("allow", "deny"),
  message: text,
  interrupt: Schema.optional(Schema.Boolean),
  updatedInput: input
})

const Answer = Schema.Struct({
  ...common,
  hookSpecificOutput: Schema.optional(Schema.Struct({ ...specific, decision: Schema.optional(ruling) }))
})

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

/** The reason if a hook ends the turn without giving one. */
const ended = "A hook has ended the turn."

const decisions = { approve: "allow", block: "deny" } as const

/** Which fields have an effect for each event. The others are reported once. */
const heard: Readonly<Record<ClaudeEvent, ReadonlySet<string>>> = {
  SessionStart: new Set(["additionalContext"]),
  SessionEnd: new Set(),
  UserPromptSubmit: new Set(["decision", "reason", "additionalContext", "continue", "stopReason"]),
  PreToolUse: new Set([
    "decision",
    "reason",
    "continue",
    "stopReason",
    "permissionDecision",
    "permissionDecisionReason",
    "updatedInput",
    "additionalContext"
  ]),
  PermissionRequest: new Set([
    "decision",
    "reason",
    "continue",
    "stopReason",
    "behavior",
    "message",
    "interrupt",
    "updatedInput"
  ]),
  PostToolUse: new Set(["decision", "reason", "continue", "stopReason", "additionalContext"]),
  PostToolUseFailure: new Set(["decision", "reason", "continue", "stopReason", "additionalContext"]),
  PreCompact: new Set(),
  Notification: new Set(),
  Stop: new Set(["decision", "reason", "continue", "stopReason"]),
  SubagentStart: new Set(["additionalContext"]),
  SubagentStop: new Set(["decision", "reason", "continue", "stopReason"])
}

/** Whether an event respects `continue: false`. */
export const supportsContinue = (event: ClaudeEvent): boolean => heard[event].has("continue")

const always = new Set(["suppressOutput", "systemMessage", "hookSpecificOutput", "hookEventName"])

const said = (value: unknown): ReadonlyArray<string> =>
  typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([key, inner]) =>
      key === "hookSpecificOutput" || key === "decision" ? [key, ...said(inner)] : [key]
    )
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
  // Only `false` has a meaning.
  const goesOn = rest.continue !== false
  const ruled = event === "PermissionRequest" ? own.decision : undefined
  const why = own.permissionDecisionReason ?? ruled?.message ?? reason
  const interrupts = ruled?.behavior === "deny" && ruled.interrupt === true
  return Either.right({
    decision: own.permissionDecision ?? ruled?.behavior ?? (decision === undefined ? undefined : decisions[decision]),
    reason: why,
    ends: goesOn ? interrupts ? why ?? ended : undefined : stopReason ?? ended,
    input: ruled?.updatedInput ?? own.updatedInput,
    context: own.additionalContext,
    message: systemMessage,
    unknown: said(value.right).filter((key) =>
      !always.has(key) && !heard[event].has(key) && !(goesOn && (key === "continue" || key === "stopReason"))
    )
  })
}

/** Reads an answer. The `left` value says why it cannot be read, or how the hook failed. */
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
  // For these events the text goes to the model. Elsewhere it is ignored.
  const forModel = event === "UserPromptSubmit" || event === "SessionStart"
  return Either.right(forModel && stdout.trim() !== "" ? { ...nothing, context: stdout.trim() } : nothing)
}
