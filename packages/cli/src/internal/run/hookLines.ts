/** Prints a line for every hook event, indented by depth. `--verbose` shows these lines in addition to the calls. */
import { type Hook, on } from "@skein/core/Hooks"
import { type HookEvent, hookEvents, type HookPayload } from "@skein/domain/Hook"
import * as Effect from "effect/Effect"

const factsOf = (payload: HookPayload): string => {
  switch (payload.event) {
    case "SessionStart":
    case "SessionEnd":
    case "UserPromptSubmit":
      return `cwd=${payload.cwd}`
    case "PreToolUse":
      return `${payload.tool}(...)`
    case "PermissionRequest":
    case "Notification":
      return `${payload.tool} permission=${payload.request.permission}`
    case "PostToolUse":
      return `${payload.tool} output_chars=${payload.output.length}`
    case "SubagentStart":
      return `${payload.path.at(-1)} prompt_chars=${payload.prompt.length}`
    case "SubagentStop":
      return `${payload.path.at(-1)} output_chars=${payload.output.length}`
    case "PreCompact":
      return `trigger=${payload.trigger}`
    case "Stop":
      return `output_chars=${payload.output.length}`
  }
}

/** The line of an event. */
export const hookLine = (payload: HookPayload): string =>
  `${"  ".repeat(payload.path.length - 1)}[HOOK] ${payload.event} ${factsOf(payload)}`

/**
 * Adds a hook that prints its line for each event: before these hooks, but for PostToolUse after them, because they may
 * change the output.
 */
export const withLines = (
  hooks: ReadonlyArray<Hook>,
  tell: (line: string, payload: HookPayload) => void
): ReadonlyArray<Hook> => {
  const telling = (event: HookEvent) =>
    on(event, (payload) => Effect.sync(() => tell(hookLine(payload), payload)), { name: "--verbose" })
  return [
    ...hookEvents.filter((event) => event !== "PostToolUse").map(telling),
    ...hooks,
    telling("PostToolUse")
  ]
}
