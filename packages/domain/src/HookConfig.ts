/** Defines shell hooks in the config: one command per entry, or nested under a matcher as in Claude Code. */
import * as Schema from "effect/Schema"
import { millisecondsUpTo } from "./Milliseconds.ts"

/** Names of tools, or of agents if the event is not about a call, with `|` between them; `*` and `?` are wildcards. */
const HookMatcher = Schema.String.pipe(
  Schema.pattern(/^(?:[\w*?-]+(?:\|[\w*?-]+)*)?$/, {
    message: () => "names with | between them, in which * and ? are wildcards, such as bash|edit or mcp_*"
  })
)

const command = Schema.String.pipe(
  Schema.pattern(/\S/, { message: () => "a command line" }),
  Schema.annotations({ description: "A command line; one that begins with ./ or ../ is relative to the config file." })
)

/** The maximum time limit of a hook: an hour. */
const longest = 3_600

/** A command of the nested form; its `timeout` is in seconds, as in Claude Code. */
const NestedHook = Schema.Struct({
  type: Schema.Literal("command"),
  command,
  timeout: Schema.optional(
    Schema.Positive.pipe(
      Schema.lessThanOrEqualTo(longest, { description: `a number of seconds, at most ${longest}` })
    )
  )
})

/** A shell hook, or several under one matcher; `timeout` is in milliseconds. */
export const HookConfig = Schema.Struct({
  /** Matches everything if absent or empty. */
  matcher: Schema.optional(HookMatcher),
  command: Schema.optional(command),
  timeout: Schema.optional(millisecondsUpTo(longest * 1_000, "an hour")),
  hooks: Schema.optional(Schema.Array(NestedHook))
}).pipe(
  Schema.filter(
    ({ command: line, hooks, timeout }) =>
      (line === undefined) !== (hooks === undefined) && (hooks === undefined || timeout === undefined),
    { description: "an object with a `command`, or with a list of `hooks` that each have their own" }
  )
)
/** The type of such an entry. */
export type HookConfig = typeof HookConfig.Type

const list = Schema.optional(Schema.Array(HookConfig))

/** The shell hooks of each event, in the order in which they run. */
export const HooksConfig = Schema.Struct({
  SessionStart: list,
  SessionEnd: list,
  UserPromptSubmit: list,
  PreToolUse: list,
  PermissionRequest: list,
  PostToolUse: list,
  SubagentStart: list,
  SubagentStop: list,
  Stop: list,
  PreCompact: list,
  Notification: list,
  "tool.execute.before": list,
  "tool.execute.after": list
})
/** The type of the shell hooks. */
export interface HooksConfig extends Schema.Schema.Type<typeof HooksConfig> {}

/** A hook in the format of Claude Code. */
export const ClaudeHook = NestedHook
/** The type of such a hook. */
export interface ClaudeHook extends Schema.Schema.Type<typeof ClaudeHook> {}

const claudeList = Schema.optional(
  Schema.Array(
    Schema.Struct({
      /** Names with `|` between them, or a regular expression; matches everything if absent, empty or `*`. */
      matcher: Schema.optional(Schema.String.pipe(Schema.maxLength(1_000))),
      hooks: Schema.Array(ClaudeHook)
    })
  )
)

/** Hooks in the format of Claude Code, by its events: their payloads and answers have its format too. */
export const ClaudeHooksConfig = Schema.Struct({
  SessionStart: claudeList,
  SessionEnd: claudeList,
  UserPromptSubmit: claudeList,
  PreToolUse: claudeList,
  PermissionRequest: claudeList,
  PostToolUse: claudeList,
  PostToolUseFailure: claudeList,
  PreCompact: claudeList,
  Notification: claudeList,
  Stop: claudeList,
  SubagentStart: claudeList,
  SubagentStop: claudeList
})
/** The type of these hooks. */
export interface ClaudeHooksConfig extends Schema.Schema.Type<typeof ClaudeHooksConfig> {}
