/** Decides how a command is declared. Parsing, help and shell completions all read the same declaration. */
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import type { DataDirs } from "@skein/config/DataDirs"
import type * as Effect from "effect/Effect"
import type { Stdio } from "./Stdio.ts"
import type { Stop } from "./Stop.ts"

/** The kind of value that a flag takes. */
type FlagType =
  /** No value: the flag is present or absent. */
  | { readonly type: "switch" }
  /** Any non-empty text, of `most` characters at most; `value` names it in the help. */
  | { readonly type: "text"; readonly value: string; readonly many?: boolean; readonly most?: number }
  /** A whole number, at least 1. */
  | { readonly type: "count" }
  /** A port; 0 means a free one. */
  | { readonly type: "port" }
  /** An amount of money above zero, as the exact decimal that was typed. */
  | { readonly type: "money" }
  /** A duration such as `90s`; parsed to milliseconds. */
  | { readonly type: "duration" }
  /** One of a few words. The first is the default, unless the flag `isOptional`. */
  | {
    readonly type: "choice"
    readonly choices: readonly [string, ...ReadonlyArray<string>]
    readonly isOptional?: true
  }

/** A flag, declared under its long name. */
export type Flag = FlagType & {
  readonly short?: string
  readonly description: string
  /** What a shell completes its value with: files, directories, or the output of another command. */
  readonly completes?: "file" | "directory"
}

/** The flags of a command by their long names. */
export type Flags = Readonly<Record<string, Flag>>

/** For every command. */
export const verboseFlags = {
  verbose: { type: "switch", description: "Logs to standard error, and shows the causes of errors" },
  "log-format": { type: "choice", choices: ["text", "json"], description: "The format of the log" }
} as const satisfies Flags

/** The parsed value of a flag. */
type FlagValue<F extends Flag> = F extends { readonly type: "switch" } ? boolean
  : F extends { readonly type: "text"; readonly many: true } ? ReadonlyArray<string>
  : F extends { readonly type: "text" | "money" } ? string | undefined
  : F extends { readonly type: "choice"; readonly choices: ReadonlyArray<infer Choice>; readonly isOptional: true } ?
    Choice | undefined
  : F extends { readonly type: "choice"; readonly choices: ReadonlyArray<infer Choice> } ? Choice
  : number | undefined

/** The parsed and checked command line. */
export interface Input<F extends Flags> {
  readonly flags: { readonly [K in keyof F]: FlagValue<F[K]> }
  readonly operands: ReadonlyArray<string>
}

/** Why a command failed: any error with a message for people. */
export interface CommandError {
  readonly _tag: string
  readonly message: string
}

/** What every command may use: files, the streams of the process, and what ends it. */
export type ProgramServices = DataDirs | FileSystem.FileSystem | Path.Path | Stdio | Stop

/** Does what a command is for. Gives its exit code, or nothing for 0; or fails with what was wrong. */
type Run<F extends Flags> = (input: Input<F>) => Effect.Effect<number | void, CommandError, ProgramServices>

/** The name of a command, and what it does in a line. */
interface Named {
  readonly name: string
  readonly aliases?: ReadonlyArray<string>
  readonly summary: string
}

/** What a command takes, and what it does. */
export interface CommandBody<F extends Flags = Flags> {
  /** More text for its own help. */
  readonly details?: string
  /**
   * The words that it takes, as the help shows them: `ID [prompt…]`. One in brackets may be left out, several may stand for
   * one with `…`, and one such as `bash|zsh` is a choice.
   */
  readonly operands?: string
  readonly flags: F
  /** The commands of a group. */
  readonly commands?: ReadonlyArray<CommandSpec>
  /** Loads what it does, if that is not here. */
  readonly load: () => Promise<Run<F>>
}

/** A command, or a group of commands. */
export type CommandSpec<F extends Flags = Flags> = CommandBody<F> & Named

/** A command of which only the help of the program is loaded. */
export interface CommandEntry extends Named {
  readonly open: () => Promise<CommandBody>
}

/** A command as it is declared: with what it does, or with what loads that. */
type Declared<F extends Flags> =
  & Pick<CommandBody<F>, "commands" | "details" | "flags" | "operands">
  & ({ readonly run: Run<F> } | { readonly load: () => Promise<Run<F>> })

/** Declares what a command of the program takes and does. Its function gets the flags with their types. */
export const commandBody = <const F extends Flags>(declared: Declared<F>): CommandBody => {
  const { flags, ...rest } = declared
  const load = "load" in declared ? declared.load : () => Promise.resolve(declared.run)
  // The parser builds exactly the values that the flags declare.
  return { ...rest, flags: { ...flags, ...verboseFlags }, load } as unknown as CommandBody
}

/** Declares a command of a group. */
export const command = <const F extends Flags>({ name, summary, ...declared }: Declared<F> & Named): CommandSpec => ({
  name,
  summary,
  ...commandBody(declared as unknown as Declared<Flags>)
})

/** Declares a group of commands. If none of them is named, the first one runs. */
export const group = (
  commands: readonly [CommandSpec, ...ReadonlyArray<CommandSpec>],
  more: Pick<CommandBody, "details" | "operands"> = {}
): CommandBody => ({ ...more, flags: commands[0].flags, commands, load: commands[0].load })
