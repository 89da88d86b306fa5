/** Commands as they are found, requested, and expanded. */
import type { ModelRef } from "@skein/domain/Model"
import type { PartInput } from "@skein/domain/Part"
import type * as Effect from "effect/Effect"

/** A command: a template with a name. */
export interface CommandInfo {
  readonly name: string
  /** `$ARGUMENTS`, `$1` and so on, `` !`shell` `` and `@file` in it are replaced, once. */
  readonly template: string
  readonly description?: string
  /** The prompt of an MCP server that takes the place of the template. */
  readonly prompt?: { readonly server: string; readonly name: string }
  /** The agent that works on it; by default the session's. */
  readonly agent?: string
  readonly model?: ModelRef
  /** Whether it runs as a subagent; by default it does if its agent is one. */
  readonly subtask?: boolean
  /** Where it is defined: a file, `file:line`, or `built in`. */
  readonly origin: string
  /** Where the commands of the same name are defined that it overrides. */
  readonly hides: ReadonlyArray<string>
}

/** The commands, sorted by name, and what is wrong with those that cannot be used. */
export interface CommandList {
  readonly commands: ReadonlyArray<CommandInfo>
  readonly broken: ReadonlyArray<{ readonly name: string; readonly message: string }>
}

/** Finds the commands of a directory. */
export type CommandSource = (directory: string) => Effect.Effect<CommandList>

/** A request for a command. */
export interface CommandRequest {
  readonly name: string
  /** The text after the command as a person typed it, or words that are already split. */
  readonly arguments?: string | ReadonlyArray<string> | undefined
}

/** A command as a prompt. */
export interface Expanded {
  readonly command: CommandInfo
  readonly parts: ReadonlyArray<PartInput>
  /** The agent that answers; absent if it is the session's. */
  readonly agent?: string
  readonly model?: ModelRef
}
