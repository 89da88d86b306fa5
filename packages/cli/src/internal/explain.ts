/** Decides the message and the exit code of an error. */
import { escapeText } from "@skein/tui/Escape"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { CommandError } from "../CommandSpec.ts"
import { ExitCode } from "../ExitCode.ts"
import { Stdio } from "../Stdio.ts"
import { Redaction } from "./Redaction.ts"

/** An error as people and programs see it. */
export interface Explained {
  readonly tag: string
  /** What happened and how to fix it, without the program's name. */
  readonly message: string
  readonly exitCode: number
  /** The exhausted budget. */
  readonly which?: string
}

/** Errors in what was typed, configured or named. Nothing was done. */
const usage = new Set([
  "UsageError",
  "ConfigError",
  "AgentNotFound",
  "CommandNotFound",
  "CommandInvalid",
  "SessionNotFound",
  "ModelUnavailable",
  "ModeRefused",
  "PermissionNotFound",
  "PromptInvalid",
  "BudgetInvalid",
  "ForkRefused",
  "ServedElsewhere",
  "ClusterUnavailable",
  "ListenFailed",
  "ArchiveInvalid",
  "FileNotMade",
  "TrustError",
  "SandboxError"
])

/** Errors with their own exit codes. */
const ended: ReadonlyMap<string, number> = new Map([
  ["BudgetExhausted", ExitCode.limit],
  ["HookRefused", ExitCode.denied],
  ["PermissionDenied", ExitCode.denied]
])

/** Errors of the database itself, as opposed to errors of a request. */
const unusable = new Set(["readonly", "corrupt", "newer", "older", "foreign", "unreadable"])

/** The error at the root of a cause. */
export const explain = (cause: Cause.Cause<CommandError>): Explained => {
  const failure = Cause.failureOption(cause)
  if (failure._tag === "Some") return explainError(failure.value)
  const defect = Cause.squash(cause)
  const detail = defect instanceof Error ? defect.message : String(defect)
  return {
    tag: "defect",
    message: `Something went wrong inside Skein (${detail}). Run it again with --verbose to see where.`,
    exitCode: ExitCode.failed
  }
}

/** A typed error. */
const explainError = (error: CommandError): Explained => {
  const reason = "reason" in error ? String(error.reason) : ""
  const isUsage = usage.has(error._tag)
    || (error._tag === "StorageError" && unusable.has(reason))
    || (error._tag === "ProjectUnavailable" && reason === "no_directory")
    || ((error._tag === "SummaryFailed" || error._tag === "CompactionFailed") && reason !== "model")
  return {
    // Distinguish a session or database that another process took over from a full disk.
    tag: error._tag === "ModelError" || reason === "held" || reason === "gone" ? reason : error._tag,
    message: error.message,
    ...(error._tag === "BudgetExhausted" && "which" in error ? { which: String(error.which) } : {}),
    exitCode: isUsage ? ExitCode.usage : ended.get(error._tag) ?? ExitCode.failed
  }
}

/** The line for standard error. */
export const errorLine = (message: string): string => `skein: ${escapeText(message).trimEnd()}`

/** For `--verbose`: where an error came from. If logs are JSON, this is a JSON line too. */
export const showCause = (
  cause: Cause.Cause<CommandError>,
  json: boolean
): Effect.Effect<void, never, Stdio> =>
  json ? Effect.logDebug("The command failed", cause) : Effect.gen(function*() {
    const { redact } = yield* Redaction
    const stdio = yield* Stdio
    stdio.err(errorLine(redact(Cause.pretty(cause, { renderErrorCause: true }))))
  })
