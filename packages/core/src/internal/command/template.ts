/**
 * Splits a template into pieces, once: the values of arguments, commands and files are never expanded again. Words are
 * split as in a shell, but an apostrophe within a word, as in `don't`, is an ordinary character. Shell text gets the
 * arguments as positional parameters: they never become a part of it.
 */
import { mention, pathOf } from "@skein/domain/Mention"

/** Whether a quote at this place is an apostrophe. */
const isApostrophe = (text: string, at: number): boolean =>
  text.charAt(at) === "'" && /[\p{L}\p{N}]/u.test(text.charAt(at - 1))

/** The words, without their quotes. Nothing in them is expanded; a quote that does not end is an ordinary character. */
export const wordsOf = (text: string): ReadonlyArray<string> => {
  const words: Array<string> = []
  let word: string | undefined
  let at = 0
  while (at < text.length) {
    const letter = text.charAt(at)
    const opens = letter === "\"" || (letter === "'" && !isApostrophe(text, at))
    const end = opens ? endOfQuote(text, at) : -1
    if (end >= 0) {
      const inside = text.slice(at + 1, end)
      word = (word ?? "") + (letter === "'" ? inside : inside.replace(/\\(["\\])/g, "$1"))
      at = end + 1
    } else if (/\s/.test(letter)) {
      if (word !== undefined) words.push(word)
      word = undefined
      at++
    } else if (letter === "\\" && at + 1 < text.length) {
      word = (word ?? "") + text.charAt(at + 1)
      at += 2
    } else {
      word = (word ?? "") + letter
      at++
    }
  }
  return word === undefined ? words : [...words, word]
}

const endOfQuote = (text: string, start: number): number => {
  const quote = text.charAt(start)
  for (let at = start + 1; at < text.length; at++) {
    // An apostrophe in quoted words does not end them.
    const isWithin = isApostrophe(text, at) && /[\p{L}\p{N}]/u.test(text.charAt(at + 1))
    if (text.charAt(at) === quote && !isWithin) return at
    if (quote === "\"" && text.charAt(at) === "\\") at++
  }
  return -1
}

/** A piece of shell text: literal text, or a place for arguments. */
type ShellPiece =
  | { readonly type: "text"; readonly text: string }
  /** Undefined `number` stands for all arguments; `quoted` if it is within double quotes. */
  | { readonly type: "place"; readonly number: number | undefined; readonly quoted: boolean }

const place = /^\$(?:ARGUMENTS(?!\w)|([1-9]\d{0,8}))/

/**
 * Splits shell text into pieces. Within single quotes and after a backslash, a dollar is a dollar: `awk '{print $1}'`
 * stays.
 */
const shellPiecesOf = (text: string): ReadonlyArray<ShellPiece> => {
  const pieces: Array<ShellPiece> = []
  let plain = ""
  // Whether the text is within double quotes: at the top, and in each open pair of parentheses.
  const depths = [false]
  const take = (letters: string) => {
    plain += letters
    return letters.length
  }
  for (let at = 0; at < text.length;) {
    const letter = text.charAt(at)
    const quoted = depths.at(-1) === true
    const found = letter === "$" ? place.exec(text.slice(at, at + 12)) : null
    if (found !== null) {
      pieces.push({ type: "text", text: plain }, {
        type: "place",
        number: found[1] === undefined ? undefined : Number(found[1]),
        quoted
      })
      plain = ""
      at += found[0].length
    } else if (letter === "\\") at += take(text.slice(at, at + 2))
    // Parameters of the shell itself, such as `$$`: the second dollar begins nothing.
    else if (letter === "$" && /[$@*#?!0-]/.test(text.charAt(at + 1))) at += take(text.slice(at, at + 2))
    else if (letter === "'" && !quoted) {
      const end = text.indexOf("'", at + 1)
      at += take(end < 0 ? text.slice(at) : text.slice(at, end + 1))
    } else if (letter === "$" && text.charAt(at + 1) === "(") {
      depths.push(false)
      at += take("$(")
    } else {
      if (letter === "\"") depths[depths.length - 1] = !quoted
      else if (letter === "(" && !quoted) depths.push(false)
      else if (letter === ")" && !quoted && depths.length > 1) depths.pop()
      at += take(letter)
    }
  }
  return [...pieces, { type: "text", text: plain }]
}

/** The places for arguments in shell text: numbers, and undefined for all of them. */
export const placesIn = (text: string): ReadonlyArray<number | undefined> =>
  shellPiecesOf(text).flatMap((piece) => piece.type === "place" ? [piece.number] : [])

/** A line for the shell. */
interface ShellLine {
  /** The values of the positional parameters. */
  readonly command: string
  /**
   * The line with the arguments written out in quotes, for the permission decision. It is the unchanged line if the two
   * could differ.
   */
  readonly shown: string
  /** Whether `shown` is all that runs: every argument that the line uses is written out in it. */
  readonly known: boolean
}

/** Syntax beyond words and quotes, where a written-out argument may differ from a parameter. */
const intricate = /[`#]|<<|\(\(|\$[({['"]|\\\n/

const literal = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Makes a line of shell text and arguments; `highest` is the place that takes all further arguments. */
export const shellLine = (text: string, words: ReadonlyArray<string>, highest: number): ShellLine => {
  const pieces = shellPiecesOf(text)
  const isPlain = !intricate.test(text)
  let command = ""
  let shown = ""
  let spliced = false
  for (const piece of pieces) {
    if (piece.type === "text") {
      command += piece.text
      shown += piece.text
      continue
    }
    const { number, quoted } = piece
    const first = number ?? 1
    const given = number === undefined || number === highest ? words.slice(first - 1) : words.slice(first - 1, first)
    // A place without an argument is no argument, rather than an empty one.
    if (given.length === 0) continue
    spliced = true
    const all = quoted ? "*" : "@"
    const reference = given.length === 1 ? `{${first}}` : first === 1 ? all : `{${all}:${first}}`
    command += quoted ? `$${reference}` : `"$${reference}"`
    shown += quoted ? `"${literal(given.join(" "))}"` : given.map(literal).join(" ")
  }
  return { command, shown: isPlain ? shown : command, known: isPlain || !spliced }
}

/** A piece of a template. */
export type Piece =
  | { readonly type: "text"; readonly text: string }
  /** All arguments as they were written. */
  | { readonly type: "arguments" }
  /** One argument; the highest place of a template takes all further ones. */
  | { readonly type: "argument"; readonly number: number }
  /** A command line, replaced by its output. */
  | { readonly type: "shell"; readonly text: string }
  /** `@name`, which stays in the text; the name may contain places for arguments. */
  | { readonly type: "mention"; readonly quoted: boolean; readonly path: ReadonlyArray<Piece> }

const places = /\$(?:ARGUMENTS(?!\w)|([1-9]\d{0,8}))/

const pattern = new RegExp(`!\`([^\`]+)\`|${places.source}|${mention.source}`, "gu")

const placePattern = new RegExp(places.source, "g")

const placesOf = (text: string): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  let end = 0
  for (const { 0: whole, 1: number, index } of text.matchAll(placePattern)) {
    pieces.push(
      { type: "text", text: text.slice(end, index) },
      number === undefined ? { type: "arguments" } : { type: "argument", number: Number(number) }
    )
    end = index + whole.length
  }
  return [...pieces, { type: "text", text: text.slice(end) }]
}

/** The pieces of a template, in order. */
const piecesOf = (template: string): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  let end = 0
  for (const { 0: whole, 1: shell, 2: number, 3: quoted, 4: bare, index } of template.matchAll(pattern)) {
    pieces.push({ type: "text", text: template.slice(end, index) })
    if (shell !== undefined) pieces.push({ type: "shell", text: shell })
    else if (quoted !== undefined || bare !== undefined) {
      const path = pathOf(quoted, bare)
      if (path !== "") pieces.push({ type: "mention", quoted: quoted !== undefined, path: placesOf(path) })
      if (quoted === undefined) pieces.push({ type: "text", text: whole.slice(path === "" ? 0 : path.length + 1) })
    } else pieces.push(number === undefined ? { type: "arguments" } : { type: "argument", number: Number(number) })
    end = index + whole.length
  }
  return [...pieces, { type: "text", text: template.slice(end) }]
}

/** The places for arguments in some pieces: numbers, and undefined for all of them. */
const placesFor = (pieces: ReadonlyArray<Piece>): ReadonlyArray<number | undefined> =>
  pieces.flatMap((piece) => {
    switch (piece.type) {
      case "arguments":
        return [undefined]
      case "argument":
        return [piece.number]
      case "shell":
        return placesIn(piece.text)
      case "mention":
        return placesFor(piece.path)
      default:
        return []
    }
  })

/** The arguments of a command. */
export interface Given {
  /** As it was written. */
  readonly raw: string
  readonly words: ReadonlyArray<string>
  /** The place that takes all further arguments; 0 if there is none. */
  readonly highest: number
}

/** The text of pieces that need only the arguments. */
export const filled = (pieces: ReadonlyArray<Piece>, given: Given): string =>
  pieces.map((piece) => {
    const { highest, raw, words } = given
    switch (piece.type) {
      case "text":
        return piece.text
      case "arguments":
        return raw
      case "argument":
        return piece.number === highest ? words.slice(highest - 1).join(" ") : words[piece.number - 1] ?? ""
      case "shell":
        return `!\`${piece.text}\``
      case "mention":
        return piece.quoted ? `@"${filled(piece.path, given)}"` : `@${filled(piece.path, given)}`
    }
  }).join("")

/** A template without places for arguments gets them at its end, so that they are not lost. */
export const completed = (
  template: string,
  raw: string
): { readonly pieces: ReadonlyArray<Piece>; readonly highest: number } => {
  const pieces = piecesOf(template)
  const asked = placesFor(pieces)
  const highest = asked.reduce<number>((most, number) => Math.max(most, number ?? 0), 0)
  return asked.length > 0 || raw.trim() === ""
    ? { pieces, highest }
    : { pieces: [...pieces, { type: "text", text: "\n\n" }, { type: "arguments" }], highest }
}
