/** Decides how a command is declared. Parsing, help and shell completions all read the same declaration. */
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

/** What a command returns: its exit code, or an error that says what was wrong. */
type Execute<F extends Flags> = (input: Input<F>) => Effect.Effect<number, CommandError, Stdio | Stop>

/** Why a command failed: any error with a message for people. */
export interface CommandError {
  readonly _tag: string
  readonly message: string
}

/** The words that a command takes in addition to its flags. */
interface Operands {
  /** How the help shows it, such as `ID [prompt…]`. */
  readonly usage: string
  readonly least: number
  readonly most: number
  /** The words that are known in advance, for completions. */
  readonly choices?: ReadonlyArray<string>
}

/** A command, or a group of commands. The first command of a group runs if no subcommand is named. */
export interface CommandSpec<F extends Flags = Flags> {
  readonly name: string
  readonly aliases?: ReadonlyArray<string>
  readonly summary: string
  /** More text for its own help. */
  readonly details?: string
  readonly operands?: Operands
  readonly flags: F
  readonly commands?: ReadonlyArray<CommandSpec>
  /** Loads the implementation. Nothing of it is loaded earlier. */
  readonly load: () => Promise<Execute<F>>
}

/** Declares a command. Its implementation gets its flags with their types. */
export const command = <const F extends Flags>(spec: CommandSpec<F>): CommandSpec =>
  // The parser builds exactly the values that the flags declare.
  spec as unknown as CommandSpec
