/**
 * Decides how the shell text of a template gets the arguments: as positional parameters of the shell. They never become
 * a part of that text.
 */

/** A piece of shell text: literal text, or a place for arguments. */
type Piece =
  | { readonly type: "text"; readonly text: string }
  /** Undefined `number` stands for all arguments; `quoted` if it is within double quotes. */
  | { readonly type: "place"; readonly number: number | undefined; readonly quoted: boolean }

const place = /^\$(?:ARGUMENTS(?!\w)|([1-9]\d{0,8}))/

/**
 * Splits shell text into pieces. Within single quotes and after a backslash, a dollar is a dollar: `awk '{print $1}'`
 * stays.
 */
const piecesOf = (text: string): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
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
  piecesOf(text).flatMap((piece) => piece.type === "place" ? [piece.number] : [])

/** A line for the shell. */
export interface ShellLine {
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
  const pieces = piecesOf(text)
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
