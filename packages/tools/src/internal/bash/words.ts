/** Reads one word of a command line: what it says without its quotes, and whether that is known before it runs. */
import type { Word } from "unbash"
import { type Glob, globOf } from "./glob.ts"
import { isFixed, isPattern, plainText } from "./plainText.ts"

/** What a command writes: one harmless word such as a hash, or paths of files. */
export type Output =
  | { readonly kind: "word" }
  | {
    readonly kind: "paths"
    /** The directories that they lie below. */
    readonly below: ReadonlyArray<string>
    /** Whether each is handed on as one argument, whatever is in it. */
    readonly whole: boolean
    /** Whether hidden directories such as that of git are among those. */
    readonly all: boolean
    /** Patterns of the names that they may have; any where there is none. */
    readonly names: ReadonlyArray<string>
  }

/** A word of a command. */
export interface Argument {
  /** What it says without quotes; what only the shell can know stands in it as it is written. */
  readonly text: string
  /** As it is written. */
  readonly source: string
  /** Whether the shell hands on just this text, as one argument. */
  readonly fixed: boolean
  /** Whether the shell puts a directory in the place of its beginning. */
  readonly tilde: boolean
  /** What a command writes that stands in its place, where that is known. */
  readonly output?: Output
  /** The pattern that it is, where only the files that there are decide what it stands for. */
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

/** A word that is handed on as it stands. */
export const plainWord = (text: string): Argument => ({ text, source: text, fixed: true, tilde: false })

/** Words as rules see them: without quotes. */
export const said = (words: ReadonlyArray<Argument>): string => words.map(({ text }) => text).join(" ")

const quoted = (text: string): string =>
  text !== "" && !/[\s"'\\$`;|&<>(){}#*?[\]~!]/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Words such that no other words are written alike: quoted where that is needed, and as they are written where they are not known. */
export const spelled = (words: ReadonlyArray<Argument>): string =>
  words.map(({ fixed, source, text }) => fixed ? quoted(text) : source).join(" ")
