/** Reads one word of a command line: its text without quotes, and whether that is known before the line runs. */
import type { Word } from "unbash"
import { type Glob, globOf } from "./glob.ts"
import { isFixed, isPattern, plainText } from "./plainText.ts"

/** The output of a command: one harmless word such as a hash, or paths of files. */
export type Output =
  | { readonly kind: "word" }
  | {
    readonly kind: "paths"
    /** The directories that contain them. */
    readonly below: ReadonlyArray<string>
    /** Whether each is passed on as one argument, whatever it contains. */
    readonly whole: boolean
    /** Whether they include hidden directories such as git's. */
    readonly all: boolean
    /** Patterns of their names; any name if there is none. */
    readonly names: ReadonlyArray<string>
  }

/** A word of a command. */
export interface Argument {
  /** Its text without quotes. Parts that only the shell knows remain as written. */
  readonly text: string
  /** The word as written. */
  readonly source: string
  /** Whether the shell passes on exactly this text, as one argument. */
  readonly fixed: boolean
  /** Whether the shell replaces its beginning with a directory. */
  readonly tilde: boolean
  /** The output of the command in it, if known. */
  readonly output?: Output
  /** Its pattern, if only the existing files decide what it expands to. */
  readonly glob?: Glob
}

/** Reads a word. */
export const readWord = (word: Word): Argument => {
  const { parts, text: source, value } = word
  const fixed = parts === undefined ? source === "[" || !isPattern(source) : parts.every(isFixed)
  // Only the user's own home has a known path.
  const strange = /^~[^/]|[=:]~(?!\/)/.test(source)
  const text = fixed && source.includes("<<") ? parts?.map(plainText).join("") ?? value : value
  const argument = { text, source, fixed: fixed && !strange, tilde: source.startsWith("~") }
  const glob = argument.fixed || strange || parts === undefined ? undefined : globOf(parts)
  return glob === undefined ? argument : { ...argument, glob }
}

/** A word that is passed on unchanged. */
export const plainWord = (text: string): Argument => ({ text, source: text, fixed: true, tilde: false })

/** The placeholder for a file of an output; without a known output, for anything. */
export const placeholder = (output: Output | undefined): Argument => ({
  text: "{}",
  source: "{}",
  fixed: false,
  tilde: false,
  ...(output === undefined ? {} : { output })
})

/** Words as rules see them: without quotes. */
export const said = (words: ReadonlyArray<Argument>): string => words.map(({ text }) => text).join(" ")

const quoted = (text: string): string =>
  text !== "" && !/[\s"'\\$`;|&<>(){}#*?[\]~!]/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Words in a form that no other words share: quoted if necessary, and as written if they are unknown. */
export const spelled = (words: ReadonlyArray<Argument>): string =>
  words.map(({ fixed, source, text }) => fixed ? quoted(text) : source).join(" ")
