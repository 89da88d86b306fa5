/** What a command is, where a project's own are found, and how `bash` receives the arguments of a line. */
import type { ModelRef } from "@skein/domain/Model"
import type { PartInput } from "@skein/domain/Part"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/** There is no command of this name. */
export class CommandNotFound extends Schema.TaggedError<CommandNotFound>()("CommandNotFound", {
  name: Schema.String,
  message: Schema.String
}) {}

/** The definition of a command cannot be used. */
export class CommandInvalid extends Schema.TaggedError<CommandInvalid>()("CommandInvalid", {
  name: Schema.String,
  message: Schema.String
}) {}

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

/** The commands of a project. */
export class Commands extends Context.Tag("@skein/core/Commands")<Commands, {
  /** Finds the commands of a directory. */
  readonly list: CommandSource
}>() {
  /** Commands from a source. */
  static readonly layer = (list: CommandSource): Layer.Layer<Commands> => Layer.succeed(Commands, { list })

  /** No commands besides the built-in ones. */
  static readonly layerNone: Layer.Layer<Commands> = Commands.layer(() => Effect.succeed({ commands: [], broken: [] }))
}

/** The key of the arguments in the input of `bash`. */
export const positional = Symbol.for("@skein/core/ShellLine")

/** The arguments of a line. */
export interface Positional {
  /** The values of `$1`, `$2` and so on in the shell; never a part of the line. */
  readonly words: ReadonlyArray<string>
  /** The line with the arguments filled in, for permission. */
  readonly shown: string
  /** Whether `shown` is all that runs. If not, no rule allows the line. */
  readonly known: boolean
}
