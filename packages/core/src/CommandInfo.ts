/** Commands as they are found, asked for, and made into prompts. */
import type { ModelRef } from "@skein/domain/Model"
import type { PartInput } from "@skein/domain/Part"
import type * as Effect from "effect/Effect"

/** A command: a template with a name. */
export interface CommandInfo {
  readonly name: string
  /** `$ARGUMENTS`, `$1` and so on, `` !`shell` `` and `@file` in it are replaced, once. */
  readonly template: string
  readonly description?: string
  /** Who works on it; the agent of the session where absent. */
  readonly agent?: string
  readonly model?: ModelRef
  /** Whether it runs as a subagent; where absent, it does if its agent is one. */
  readonly subtask?: boolean
  /** Where it is written: a file, `file:line`, or `built in`. */
  readonly origin: string
  /** Where commands of the same name are written whose place it takes. */
  readonly hides: ReadonlyArray<string>
}

/** The commands that there are, sorted by name, and what is wrong with those that cannot be used. */
export interface CommandList {
  readonly commands: ReadonlyArray<CommandInfo>
  readonly broken: ReadonlyArray<{ readonly name: string; readonly message: string }>
}

/** Finds the commands that hold for a directory. */
export type CommandSource = (directory: string) => Effect.Effect<CommandList>

/** What is asked for. */
export interface CommandRequest {
  readonly name: string
  /** One text as a person writes it behind the command, or words that were taken apart before. */
  readonly arguments?: string | ReadonlyArray<string>
}

/** A command as a prompt. */
export interface Expanded {
  readonly command: CommandInfo
  readonly parts: ReadonlyArray<PartInput>
  /** Who answers the prompt; absent where the agent of the session does. */
  readonly agent?: string
  readonly model?: ModelRef
}
