/**
 * Reads one word of a command line: its text without quotes, whether that is known before the line runs, its pattern,
 * and how many words its braces make.
 */
import { walk } from "@skein/core/Ruleset"
import { parse, type Word, type WordPart } from "unbash"

/** Escapes of `$'…'` that mean the same in every shell and locale. */
const plainAnsi = /^\$'(?:[^\\]|\\(?:[\\'"?abefnrtv]|x[2-7][0-9A-Fa-f]))*'$/

/** Unquoted text in which the shell looks for file names, or which it splits. */
const isPattern = (source: string): boolean => {
  const bare = source.replace(/\\[^]/g, "")
  return /[*?[]/.test(bare) || (bare.includes("{") && (bare.includes(",") || bare.includes("..")))
}

/**
 * The text of `$(cat <<'EOF' … )` if nothing else is called `cat`: this is a common way to pass a message of several
 * lines. It is plain text only within double quotes.
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

/** The text of a part of a word, if the shell passes on exactly that. */
const plainText = (part: WordPart): string | undefined => {
  if (!isFixed(part)) return undefined
  if (part.type === "DoubleQuoted") {
    return part.parts.map((each) => each.type === "Literal" ? each.value : documentIn(each) ?? "").join("")
  }
  return "value" in part ? part.value : undefined
}

/** One segment of a pattern: text, or a matcher. */
interface GlobName {
  readonly text: string
  /** Whether the shell would match a name, or might; `undefined` if the segment is plain text. */
  readonly fits: ((name: string) => boolean) | undefined
}

/** A pattern, segment by segment. The first segment is empty if the pattern begins at the root. */
export type Glob = ReadonlyArray<GlobName>

// No line contains a NUL.
const wild = { many: "\0*", one: "\0?" }

const fit = (signs: ReadonlyArray<string>, name: string): boolean =>
  walk(signs, name, wild.many, (sign: string, character) => sign === wild.one || sign === character)

const isAscii = (name: string): boolean => [...name].every((each) => each < "\u0080")

const nameOf = (marked: string): GlobName => {
  const signs = marked.match(/\0[*?]|[^]/g) ?? []
  if (!signs.some((sign) => sign.length > 1)) return { text: marked, fits: undefined }
  // What counts as one character depends on the locale.
  const loose = signs.map((sign) => sign === wild.one ? wild.many : sign)
  const skipsHidden = signs[0]?.startsWith("\0") === true
  return {
    text: marked.replaceAll("\0", ""),
    fits: (name) => !(skipsHidden && name.startsWith(".")) && fit(isAscii(name) ? signs : loose, name)
  }
}

/** A word as a pattern; `undefined` if it is not one, or if its matches depend on more than the existing files. */
const globOf = (parts: ReadonlyArray<WordPart>): Glob | undefined => {
  let marked = ""
  for (const part of parts) {
    if (part.type === "Glob") {
      if (part.parts?.some(({ text, type }) => type !== "Literal" || text.includes("/")) === true) return undefined
      marked += part.kind === "star" ? wild.many : wild.one
    } else {
      const text = plainText(part)
      if (text === undefined) return undefined
      marked += text
    }
  }
  return marked.includes("\0") && !marked.startsWith("~") ? marked.split("/").map(nameOf) : undefined
}

/** Whether all matches of a pattern are in a directory that it names, so that no file name is taken for an option. */
export const isAnchored = ([first, ...others]: Glob): boolean =>
  first !== undefined && others.length > 0 && first.fits === undefined && !first.text.startsWith("-")

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
  /** The words that its braces make of it, if they are few. */
  readonly choices?: ReadonlyArray<Argument>
}

/** The maximum number of words that braces make of one. */
const mostChoices = 200

const quotedPart = /\\[^]|\$'(?:[^\\']|\\[^])*'|'[^']*'|"(?:[^"\\]|\\[^])*"|\$\{[^}]*\}|[^]/g

/** What the first pair of braces makes of a word; `undefined` if it has none. */
const splitBraces = (source: string): ReadonlyArray<string> | undefined => {
  const signs: ReadonlyArray<string> = source.match(quotedPart) ?? []
  for (let from = signs.indexOf("{"); from >= 0; from = signs.indexOf("{", from + 1)) {
    let depth = 1
    let text = ""
    const texts: Array<string> = []
    let at = from + 1
    for (; at < signs.length; at++) {
      const sign = signs[at] ?? ""
      depth += sign === "{" ? 1 : sign === "}" ? -1 : 0
      if (depth === 0) break
      if (sign === "," && depth === 1) {
        texts.push(text)
        text = ""
      } else text += sign
    }
    if (depth > 0) continue
    const middles = texts.length > 0 ? [...texts, text] : rangeTexts(text)
    if (middles === undefined) continue
    const [before, after] = [signs.slice(0, from).join(""), signs.slice(at + 1).join("")]
    return middles.map((middle) => before + middle + after)
  }
  return undefined
}

/** The words of a range such as `1..9`, if they are few. */
const rangeTexts = (text: string): ReadonlyArray<string> | undefined => {
  const count = rangeOf(text)
  const [, from = "", to = "", step = "1"] = range.exec(text) ?? []
  if (count === undefined || count > mostChoices) return undefined
  const by = Math.max(1, Math.abs(Number(step))) * (place(from) <= place(to) ? 1 : -1)
  const width = /^-?0\d/.test(from) || /^-?0\d/.test(to) ? Math.max(from.length, to.length) : 0
  return Array.from({ length: count }, (_, at) => {
    const value = place(from) + at * by
    return /\d/.test(from) ? String(value).padStart(width, "0") : String.fromCharCode(value)
  })
}

/** The words that braces make of one. */
const choicesOf = (source: string): ReadonlyArray<Argument> | undefined => {
  const done: Array<string> = []
  const open = [source]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const split = splitBraces(next)
    if (split === undefined) done.push(next)
    else open.push(...split)
    if (done.length + open.length > mostChoices) return undefined
  }
  if (done.length < 2) return undefined
  return done.flatMap((each) => {
    const command = parse(`: ${each}`).commands[0]?.command
    const words = command?.type === "Command" ? command.suffix : []
    return words.flatMap((word) => word.type === "Word" ? [readWord(word)] : [])
  })
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
  if (glob !== undefined) return { ...argument, glob }
  const choices = parts?.some(({ type }) => type === "BraceExpansion") === true ? choicesOf(source) : undefined
  return choices === undefined ? argument : { ...argument, choices }
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

/** An open pair of braces. */
interface Open {
  readonly from: number
  /** The number of words of its alternatives, without the last one. */
  sum: number
  /** The number of words of the last one. */
  last: number
  /** The number of words if it is never closed. Then its content is text that may contain other braces. */
  text: number
  commas: number
}

const open = (from: number): Open => ({ from, sum: 0, last: 1, text: 1, commas: 0 })

const quotedText = /'[^']*'?|"(?:[^"\\]|\\[^])*"?/y

const range = /^(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?$/

const place = (text: string): number => /\d/.test(text) ? Number(text) : text.charCodeAt(0)

/** The number of words of a range such as `1..9`; `undefined` if it is not a range. */
const rangeOf = (text: string): number | undefined => {
  const [, from, to, step] = range.exec(text) ?? []
  if (from === undefined || to === undefined) return undefined
  return Math.floor(Math.abs(place(to) - place(from)) / Math.max(1, Math.abs(Number(step ?? 1)))) + 1
}

const multiply = (into: Open, count: number): void => {
  into.last *= count
  into.text *= count
}

/** An upper bound for the number of words that a text with braces expands to. */
export const countBraces = (text: string): number => {
  const all = open(0)
  // The shell may take a brace that closes no list for text, and close the list with a later one. Then every comma
  // counts.
  let isStrange = false
  let most = 1
  const stack: Array<Open> = []
  for (let at = 0; at < text.length; at++) {
    const top = stack.at(-1)
    switch (text.charAt(at)) {
      case "\\":
        at++
        break
      case "'":
      case "\"": {
        quotedText.lastIndex = at
        at += (quotedText.exec(text)?.[0].length ?? 1) - 1
        break
      }
      case "{":
        stack.push(open(at + 1))
        break
      case ",":
        most *= 2
        if (top === undefined) break
        top.sum += top.last
        top.last = 1
        top.commas++
        break
      case "}": {
        if (top === undefined) break
        stack.pop()
        const ranged = rangeOf(text.slice(top.from, at))
        isStrange ||= top.commas === 0 && ranged === undefined
        most *= ranged ?? 1
        multiply(stack.at(-1) ?? all, ranged ?? (top.commas > 0 ? top.sum + top.last : top.last))
        break
      }
    }
  }
  const count = stack.reduce((product, each) => product * each.text, all.last)
  return isStrange ? Math.max(count, most) : count
}

/** The number of words that brace expansion makes of a word. */
export const expandedCount = ({ parts = [], text }: Word): number => {
  if (!text.includes("{")) return 1
  const loose = parts.map((part) =>
    part.type === "Literal" || part.type === "BraceExpansion" || part.type === "Glob" || part.type === "ExtendedGlob"
      ? part.text
      : ""
  )
  return countBraces(parts.length === 0 ? text : loose.join(""))
}
