/** Decides how a command is declared: parsing, help and shell completions all read the same declaration. */
import type * as Effect from "effect/Effect"
import type { Stdio } from "./Stdio.ts"
import type { Stop } from "./Stop.ts"

/** What a flag takes. */
type FlagType =
  /** Nothing: it is there or not. */
  | { readonly type: "switch" }
  /** Any text that is not empty; `value` names it in the help. */
  | { readonly type: "text"; readonly value: string; readonly many?: boolean }
  /** A whole number from 1 on. */
  | { readonly type: "count" }
  /** A port; 0 stands for a free one. */
  | { readonly type: "port" }
  /** An amount of money above zero, as the exact decimal that was typed. */
  | { readonly type: "money" }
  /** A time such as `90s`, in milliseconds when it was parsed. */
  | { readonly type: "duration" }
  /** One of a few words; the first is the default one, unless it `isOptional`. */
  | {
    readonly type: "choice"
    readonly choices: readonly [string, ...ReadonlyArray<string>]
    readonly isOptional?: true
  }

/** A flag as it is declared under its long name. */
export type Flag = FlagType & {
  readonly short?: string
  readonly description: string
  /** What completes its value in a shell: files, directories, or what another command lists. */
  readonly completes?: "file" | "directory"
}

/** The flags of a command by their long names. */
export type Flags = Readonly<Record<string, Flag>>

/** The value of a flag when it was parsed. */
type FlagValue<F extends Flag> = F extends { readonly type: "switch" } ? boolean
  : F extends { readonly type: "text"; readonly many: true } ? ReadonlyArray<string>
  : F extends { readonly type: "text" | "money" } ? string | undefined
  : F extends { readonly type: "choice"; readonly choices: ReadonlyArray<infer Choice>; readonly isOptional: true } ?
    Choice | undefined
  : F extends { readonly type: "choice"; readonly choices: ReadonlyArray<infer Choice> } ? Choice
  : number | undefined

/** What was typed, checked. */
export interface Input<F extends Flags> {
  readonly flags: { readonly [K in keyof F]: FlagValue<F[K]> }
  readonly operands: ReadonlyArray<string>
}

/** What a command does: its exit code, or an error that says what was wrong. */
type Execute<F extends Flags> = (input: Input<F>) => Effect.Effect<number, CommandError, Stdio | Stop>

/** Why a command could not do what it was asked: any error with a sentence for people. */
export interface CommandError {
  readonly _tag: string
  readonly message: string
}

/** The words that a command takes besides its flags. */
interface Operands {
  /** As it is shown in the help, such as `ID [prompt…]`. */
  readonly usage: string
  readonly least: number
  readonly most: number
  /** The words that are known beforehand, for completions. */
  readonly choices?: ReadonlyArray<string>
}

/** A command, or a group of commands of which the first is the one that runs without a further word. */
export interface CommandSpec<F extends Flags = Flags> {
  readonly name: string
  readonly aliases?: ReadonlyArray<string>
  readonly summary: string
  /** More for its own help. */
  readonly details?: string
  readonly operands?: Operands
  readonly flags: F
  readonly commands?: ReadonlyArray<CommandSpec>
  /** Loads what the command does; nothing of it is needed before. */
  readonly load: () => Promise<Execute<F>>
}

/** Declares a command; what it does sees its flags with their types. */
export const command = <const F extends Flags>(spec: CommandSpec<F>): CommandSpec =>
  // The parser builds exactly the values that the flags declare.
  spec as unknown as CommandSpec
