/** Owns prompts that have a name: turns a template and the words behind a command into a prompt, and the names in a prompt into what they stand for. */
import type { SessionID } from "@skein/domain/Id"
import type { PartInput } from "@skein/domain/Part"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AgentNotFound } from "./Agent.ts"
import type { CommandInvalid, CommandNotFound } from "./CommandError.ts"
import type { CommandInfo, CommandList, CommandRequest, Expanded } from "./CommandInfo.ts"
import { withBuiltins } from "./internal/command/builtins.ts"
import { matching } from "./internal/command/find.ts"
import { makeCommand } from "./internal/command/makeCommand.ts"
import type { PermissionDenied } from "./PermissionError.ts"
import type { ProjectUnavailable } from "./Project.ts"
import type { PromptError, PromptOptions, Turn } from "./Session.ts"
import type { SessionNotFound, SessionStopped } from "./SessionError.ts"
import type { StorageError } from "./StorageError.ts"

export type { CommandInfo, CommandList, CommandRequest, CommandSource } from "./CommandInfo.ts"

/** Why a command, or what a prompt names, did not become a prompt. */
export type ExpandError =
  | CommandNotFound
  | CommandInvalid
  | AgentNotFound
  | PermissionDenied
  | ProjectUnavailable
  | SessionNotFound
  | SessionStopped
  | StorageError

/** Commands. */
export class Command extends Context.Tag("@skein/core/Command")<Command, {
  /** The commands that hold for a directory, those that are built in among them. */
  readonly list: (directory: string) => Effect.Effect<CommandList, ProjectUnavailable>
  /** The command that a name means, see `matching`; the error says what is wrong with it, or which there are. */
  readonly get: (
    directory: string,
    name: string
  ) => Effect.Effect<CommandInfo, CommandNotFound | CommandInvalid | ProjectUnavailable>
  /**
   * Makes the prompt of a command for a session. Its shell text runs as calls of `bash`, and its files are read by `read`:
   * under the rules of the agent that answers, and of the hooks. What fails of them is said in the prompt; a person's no
   * ends it. Stopping the session ends it as well.
   */
  readonly expand: (id: SessionID, request: CommandRequest) => Effect.Effect<Expanded, ExpandError>
  /**
   * The same, and prompts the session with it; `also` are further parts of that prompt. The agent of the command stands
   * over that of the options, the model of the options over that of the command.
   */
  readonly run: (
    id: SessionID,
    request: CommandRequest,
    options?: Omit<PromptOptions, "command">,
    also?: ReadonlyArray<PartInput>
  ) => Effect.Effect<Turn, ExpandError | PromptError>
  /**
   * A person's words as a prompt: `@agent` in them asks for that subagent, `@path` attaches a file, a directory or an image.
   * A name that is neither stays what it is.
   */
  readonly mentioned: (id: SessionID, text: string) => Effect.Effect<ReadonlyArray<PartInput>, ExpandError>
}>() {
  /** The built-in commands, and those of the project; the latter take the place of the former. */
  static readonly layer = Layer.effect(Command, makeCommand)

  /** What was found, and the built-in commands of which nothing was found. */
  static readonly withBuiltins = withBuiltins

  /** The names of commands that a name may mean: `commit` and `git:commit` are `git/commit`. */
  static readonly matching = matching

  /** Runs a command in a session. */
  static readonly run = (
    id: SessionID,
    request: CommandRequest,
    options?: Omit<PromptOptions, "command">
  ) => Effect.flatMap(Command, (command) => command.run(id, request, options))

  /** A person's words as the parts of a prompt, for `Session.prompt`. */
  static readonly mentioned = (id: SessionID, text: string) =>
    Effect.flatMap(Command, (command) => command.mentioned(id, text))
}
