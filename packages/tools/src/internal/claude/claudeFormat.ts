/**
 * The format of Claude Code: the answers of its hooks, which are their exit code and output, and the names and
 * arguments of its tools, which hooks expect instead of Skein's.
 */
import { deepest, isTextNested } from "@skein/core/Nesting"
import { lookup } from "@skein/domain/Lookup"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { resolve } from "node:path"
import { createContext, Script } from "node:vm"
import { type FilePatch, parsePatch } from "../edit/patch.ts"
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

const Text = Schema.optional(Schema.String)

const common = {
  continue: Schema.optional(Schema.Boolean),
  stopReason: Text,
  suppressOutput: Schema.optional(Schema.Boolean),
  systemMessage: Text,
  decision: Schema.optional(Schema.Literal("approve", "block")),
  reason: Text
}

const Input = Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

const specific = {
  hookEventName: Text,
  additionalContext: Text,
  permissionDecision: Schema.optional(Schema.Literal("allow", "deny", "ask")),
  permissionDecisionReason: Text,
  updatedInput: Input
}

/** The answer to a question: an object where other events have a word. */
const ruling = Schema.Struct({
  behavior: Schema.Literal("allow", "deny"),
  message: Text,
  interrupt: Schema.optional(Schema.Boolean),
  updatedInput: Input
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

const ofTurn = "decision reason continue stopReason"

/** Which fields have an effect for each event. The others are reported once. */
const heard: Readonly<Record<ClaudeEvent, string>> = {
  SessionStart: "additionalContext",
  SessionEnd: "",
  UserPromptSubmit: `${ofTurn} additionalContext`,
  PreToolUse: `${ofTurn} permissionDecision permissionDecisionReason updatedInput additionalContext`,
  PermissionRequest: `${ofTurn} behavior message interrupt updatedInput`,
  PostToolUse: `${ofTurn} additionalContext`,
  PostToolUseFailure: `${ofTurn} additionalContext`,
  PreCompact: "",
  Notification: "",
  Stop: ofTurn,
  SubagentStart: "additionalContext",
  SubagentStop: ofTurn
}

const hears = (event: ClaudeEvent, field: string): boolean => heard[event].split(" ").includes(field)

/** Whether an event respects `continue: false`. */
export const supportsContinue = (event: ClaudeEvent): boolean => hears(event, "continue")

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
      !always.has(key) && !hears(event, key) && !(goesOn && (key === "continue" || key === "stopReason"))
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

/** How long matching a name may take, in milliseconds: the expression is untrusted. */
const timeout = 100

/** How many results of one expression are cached. */
const maximumKnown = 1_000

const script = new Script("new RegExp(matcher).test(name)")

const tested = (matcher: string, name: string): Either.Either<boolean, string> =>
  Either.try({
    try: () => script.runInContext(createContext({ matcher, name }), { timeout }) === true,
    catch: (error) => `its matcher ${JSON.stringify(matcher)} cannot be used: ${String(error)}`
  })

/** Reads a matcher. Matching a name gives a `left` value if the matcher cannot be used. */
export const claudeMatcher = (matcher = ""): (name: string) => Either.Either<boolean, string> => {
  if (matcher === "" || matcher === "*") return () => Either.right(true)
  if (/^[\w|]+$/.test(matcher)) {
    const names = new Set(matcher.split("|"))
    return (name) => Either.right(names.has(name))
  }
  const known = new Map<string, Either.Either<boolean, string>>()
  return (name) => {
    const before = known.get(name)
    if (before !== undefined) return before
    const answer = tested(matcher, name)
    if (known.size < maximumKnown) known.set(name, answer)
    return answer
  }
}

/** A call in the format that Claude Code's hooks get. */
export interface ClaudeCall {
  /** Names that a matcher may use for it. The first one that matches is passed on. */
  readonly names: ReadonlyArray<string>
  readonly input: unknown
  /** Whether an input that a hook changed can be translated back. */
  readonly changeable: boolean
}

type Fields = Readonly<Record<string, unknown>>

interface ToolForm {
  readonly names: ReadonlyArray<string>
  /** Arguments by Skein's names and Claude Code's; the others have the same names. */
  readonly fields?: Readonly<Record<string, string>>
}

const file = { filePath: "file_path" }

const forms = lookup<ToolForm>({
  bash: { names: ["Bash"] },
  read: { names: ["Read"], fields: file },
  write: { names: ["Write"], fields: file },
  edit: {
    names: ["Edit", "MultiEdit"],
    fields: { ...file, oldString: "old_string", newString: "new_string", replaceAll: "replace_all" }
  },
  glob: { names: ["Glob"] },
  grep: { names: ["Grep"] },
  list: { names: ["LS"] },
  task: { names: ["Task", "Agent"] },
  webfetch: { names: ["WebFetch"] },
  todowrite: { names: ["TodoWrite"] },
  todoread: { names: ["TodoRead"] },
  skill: { names: ["Skill"], fields: { name: "skill" } },
  question: { names: ["AskUserQuestion"] }
})

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const renamed = (input: Fields, names: Readonly<Record<string, string>>): Fields =>
  Object.fromEntries(Object.entries(input).map(([key, value]) => [names[key] ?? key, value]))

/** Claude Code uses absolute paths. */
const placed = (input: Fields, cwd: string): Fields =>
  typeof input["file_path"] === "string" ? { ...input, file_path: resolve(cwd, input["file_path"]) } : input

const side = (hunks: FilePatch["hunks"], without: "+" | "-"): string =>
  hunks.flatMap(({ lines }) => lines.flatMap(({ sign, text }) => sign === without ? [] : [text])).join("\n")

/** Claude Code has no tool for patches, so a patch is passed on as edits, one for each of its files. */
const patchCalls = (text: string, cwd: string): ReadonlyArray<ClaudeCall> =>
  Either.match(parsePatch(text), {
    // A patch that cannot be parsed is not applied either.
    onLeft: () => [],
    onRight: (files) =>
      files.flatMap((each) => {
        const [old, next] = [side(each.hunks, "+"), side(each.hunks, "-")]
        const paths = each.kind === "update" && each.to !== undefined ? [each.path, each.to] : [each.path]
        return paths.map((path) => ({
          names: each.kind === "add" ? ["Write", "Edit", "MultiEdit"] : ["Edit", "MultiEdit", "Write"],
          input: {
            file_path: resolve(cwd, path),
            ...(each.kind === "add" ? { content: next } : { old_string: old, new_string: next })
          },
          changeable: false
        }))
      })
  })

/** The calls that hooks see for this one: one, or several for a patch of several files. */
export const claudeCalls = (tool: string, input: unknown, cwd: string): ReadonlyArray<ClaudeCall> => {
  if (tool === "patch" && isFields(input) && typeof input["patchText"] === "string") {
    return patchCalls(input["patchText"], cwd)
  }
  const form = forms[tool]
  const renamedInput = isFields(input) ? placed(renamed(input, form?.fields ?? {}), cwd) : input
  return [{ names: form?.names ?? [tool], input: renamedInput, changeable: tool !== "patch" }]
}

/** Translates arguments of Claude Code to those of a tool here. */
export const ownInput = (tool: string, input: Fields): Fields => {
  const fields = Object.entries(forms[tool]?.fields ?? {})
  return renamed(input, Object.fromEntries(fields.map(([ours, theirs]) => [theirs, ours])))
}
