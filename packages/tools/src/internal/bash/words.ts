/** Reads one word of a command line: what it says without its quotes, and whether that is known before it runs. */
import type { Word, WordPart } from "unbash"
import { type Glob, globOf } from "./globs.ts"

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
  /** The pattern that it is, where only the files that there are decide what it stands for. */
  readonly glob?: Glob
}

/** Escapes of `$'…'` that mean the same in every shell and locale. */
const plainAnsi = /^\$'(?:[^\\]|\\(?:[\\'"?abefnrtv]|x[2-7][0-9A-Fa-f]))*'$/

/** Unquoted text in which the shell looks for names of files, or which it takes apart. */
const isPattern = (source: string): boolean => {
  const bare = source.replace(/\\[^]/g, "")
  return /[*?[]/.test(bare) || (bare.includes("{") && (bare.includes(",") || bare.includes("..")))
}

/**
 * What `$(cat <<'EOF' … )` says, where nothing else is called `cat`: the text between, as messages of several lines are
 * handed on. It is text only within double quotes.
 */
export const documentIn = (part: WordPart): string | undefined => {
  if (part.type !== "CommandExpansion") return undefined
  const [only, ...others] = part.script?.commands ?? []
  if (only?.command.type !== "Command" || others.length > 0 || only.background === true) return undefined
  const { name, prefix, suffix } = only.command
  const [document, ...rest] = suffix
  if (name?.text !== "cat" || prefix.length > 0 || rest.length > 0 || document?.type !== "HereDoc") return undefined
  const { body, closing, delimiter, descriptor, operator } = document
  const isPlain = operator === "<<" && descriptor === undefined && delimiter?.quoted === true && closing !== undefined
  return isPlain ? body.text.replace(/\n+$/, "") : undefined
}

const isText = (part: WordPart): boolean => part.type === "Literal" || documentIn(part) !== undefined

const isFixed = (part: WordPart): boolean => {
  switch (part.type) {
    case "Literal":
      return !isPattern(part.text)
    case "SingleQuoted":
      return true
    case "AnsiCQuoted":
      return plainAnsi.test(part.text)
    case "DoubleQuoted":
      return part.parts.every(isText)
    default:
      return false
  }
}

/** What a part of a word says, where the shell hands on just that. */
export const plainText = (part: WordPart): string | undefined => {
  if (!isFixed(part)) return undefined
  if (part.type === "DoubleQuoted") {
    return part.parts.map((each) => each.type === "Literal" ? each.value : documentIn(each) ?? "").join("")
  }
  return "value" in part ? part.value : undefined
}

/** Reads a word. */
export const readWord = (word: Word): Argument => {
  const { parts, text: source, value } = word
  const fixed = parts === undefined ? source === "[" || !isPattern(source) : parts.every(isFixed)
  // Only of one's own home is it known where it is.
  const strange = /(?:^|[=:])~[^/]/.test(source)
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
