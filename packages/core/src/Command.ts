/**
 * Owns commands, the named prompts. It turns a template and its arguments into a prompt, and resolves the names in a
 * prompt.
 */
import type { SessionID } from "@skein/domain/Id"
import { mentionsIn, resourceOf } from "@skein/domain/Mention"
import type { PartInput } from "@skein/domain/Part"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AgentNotFound } from "./Agent.ts"
import type { PermissionDenied } from "./Answerer.ts"
import type { CommandInfo, CommandInvalid, CommandList, CommandNotFound, CommandRequest, Expanded } from "./Commands.ts"
import { makeCommand, matching, withBuiltins } from "./internal/command/makeCommand.ts"
import type { ProjectUnavailable } from "./Projects.ts"
import type { PromptError, PromptOptions, Turn } from "./Session.ts"
import type { StorageError } from "./StorageError.ts"
import type { SessionNotFound, SessionStopped } from "./Turn.ts"

export type { CommandInfo, CommandList, CommandRequest, CommandSource } from "./Commands.ts"

/** Why a command, or a name in a prompt, could not be expanded. */
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
  /**
   * The commands of a directory, including the built-in ones and the prompts of servers that run. With `servers`, the
   * servers of the project are started, and waited for as a turn does.
   */
  readonly list: (
    directory: string,
    options?: { readonly servers?: boolean }
  ) => Effect.Effect<CommandList, ProjectUnavailable>
  /** The command that a name refers to, see `matching`. The error says what is wrong with it, or lists the commands. */
  readonly get: (
    directory: string,
    name: string
  ) => Effect.Effect<CommandInfo, CommandNotFound | CommandInvalid | ProjectUnavailable>
  /**
   * Expands a command for a session. Its shell text runs as calls of `bash`, and its files are read by `read`, under
   * the rules of the agent that answers and its hooks. The prompt mentions what failed. If a person rejects a call, or
   * the session is stopped, the expansion ends.
   */
  readonly expand: (id: SessionID, request: CommandRequest) => Effect.Effect<Expanded, ExpandError>
  /**
   * Expands a command and prompts the session with it; `also` are further parts of that prompt. The command's agent
   * overrides that of the options. The model of the options overrides the command's. `onExpanded` hears what the command
   * became, before it is stored.
   */
  readonly run: (
    id: SessionID,
    request: CommandRequest,
    options?: Omit<PromptOptions, "command">,
    also?: ReadonlyArray<PartInput>,
    onExpanded?: (parts: ReadonlyArray<PartInput>) => void
  ) => Effect.Effect<Turn, ExpandError | PromptError>
  /**
   * A person's text as a prompt: `@agent` asks for that subagent, and `@path` attaches a file, a directory or an image.
   * Any other name stays as it is.
   */
  readonly mentioned: (id: SessionID, text: string) => Effect.Effect<ReadonlyArray<PartInput>, ExpandError>
}>() {
  /** The built-in commands and those of the project, which override them. */
  static readonly layer = Layer.effect(Command, makeCommand)

  /** The commands that were found, and the built-in ones that they do not override. */
  static readonly withBuiltins = withBuiltins

  /** The commands that a name may refer to: `commit` and `git:commit` are `git/commit`. */
  static readonly matching = matching

  /** The server and URI of a resource, if a name after `@` is one. */
  static readonly resourceOf = resourceOf

  /** The names after `@` in a text, each once: of subagents, of files, or of neither. */
  static readonly namesIn = mentionsIn

  /** Runs a command in a session. */
  static readonly run = (
    id: SessionID,
    request: CommandRequest,
    options?: Omit<PromptOptions, "command">
  ) => Effect.flatMap(Command, (command) => command.run(id, request, options))

  /** A person's text as the parts of a prompt, for `Session.prompt`. */
  static readonly mentioned = (id: SessionID, text: string) =>
    Effect.flatMap(Command, (command) => command.mentioned(id, text))
}
