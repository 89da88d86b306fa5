/**
 * Reads the tables of programs: for each the options that are known to be harmless, what each of them takes, and what a
 * program does with its operands. Nothing else is known of a program: an option that is not in its table is asked for.
 *
 * A table is a text. In brackets stand the kinds of operands, each but the last for one operand, and words on the whole
 * program; then come the options. What stands behind an option says what it takes:
 *
 *     -n        nothing              -k:   a text            --color?   a text behind =, or nothing
 *     -f<       a file that is read  -o>   a file that is written       -C/   a directory that is read below
 *     -W*       a text in the same word                                 -#    a number, as in -5
 *     --arg::   two texts
 *
 * and, behind that: `!` instead of the first operand, `^` the operands are read below, `.` hidden files too.
 */

/** What a value or an operand is to a program. */
export type Kind = "text" | "read" | "look" | "below" | "write" | "url" | "target" | "git" | "remote"

/** What an option takes, and what it changes. */
export interface Option {
  readonly takes: Kind | undefined
  /** Whether its value may only stand in the same word. */
  readonly attached: boolean
  /** Whether it takes a second text. */
  readonly twice: boolean
  /** Whether it stands for the first operand. */
  readonly first: boolean
  readonly below: boolean
  readonly hidden: boolean
}

/** What is known of a program. */
export interface Table {
  readonly options: ReadonlyMap<string, Option>
  /** Options whose values stand right behind them, such as `-Wall`. */
  readonly prefixes: ReadonlyArray<readonly [string, Option]>
  /** Whether a number may be an option. */
  readonly numbers: boolean
  /** The kinds of operands; the last one is that of all others. */
  readonly operands: ReadonlyArray<Kind>
  /** The kind of the last operand, where it is another one. */
  readonly last: Kind | undefined
  /** Whether options are words with one dash, and not letters. */
  readonly words: boolean
  /** Whether it does more than to read: then no default allows it. */
  readonly acts: boolean
  /** Whether it reads the directory that it stands in where it has no operands. */
  readonly here: boolean
  /** Whether hidden files are left out unless an option says otherwise. */
  readonly skipsHidden: boolean
  /** Whether `@` before a value makes it the name of a file. */
  readonly at: boolean
}

const kinds: Readonly<Record<string, Kind>> = {
  ":": "text",
  "?": "text",
  "*": "text",
  "<": "read",
  ">": "write",
  "/": "below"
}

const isKind = (word: string): word is Kind => /^(?:text|read|look|below|write|url|target|git|remote)$/.test(word)

const option = (marks: string): Option => {
  const kind = marks.charAt(0) === "*" && kinds[marks.charAt(1)] !== undefined ? marks.charAt(1) : marks.charAt(0)
  return {
    takes: kinds[kind],
    attached: marks.startsWith("?") || marks.startsWith("*"),
    twice: marks.startsWith("::"),
    first: marks.includes("!"),
    below: marks.includes("^"),
    hidden: marks.includes(".")
  }
}

const parseTable = (source: string): Table => {
  const [head = "", body = ""] = /^\s*\[([^\]]*)\]([^]*)$/.exec(source)?.slice(1) ?? []
  const about = head.split(/\s+/).filter((word) => word !== "")
  const given = body.split(/\s+/).filter((word) => word !== "").map((word) => {
    const [, name = "", marks = ""] = /^(.*?)([:?*<>/]{0,2}[!^.]*)$/.exec(word) ?? []
    return [name, marks] as const
  })
  const last = about.find((word) => word.startsWith("last:"))?.slice("last:".length)
  return {
    options: new Map(given.filter(([, marks]) => !marks.startsWith("*")).map(([name, marks]) => [name, option(marks)])),
    prefixes: given.flatMap(([name, marks]) => marks.startsWith("*") ? [[name, option(marks)] as const] : []),
    numbers: given.some(([name]) => name === "-#"),
    operands: about.filter(isKind),
    last: last !== undefined && isKind(last) ? last : undefined,
    words: about.includes("words"),
    acts: about.includes("acts"),
    here: about.includes("here"),
    skipsHidden: about.includes("skipsHidden"),
    at: about.includes("at")
  }
}

const parsed = new Map<string, Table>()

/** The table that a text says, read once. */
export const tableOf = (source: string): Table => {
  const found = parsed.get(source) ?? parseTable(source)
  parsed.set(source, found)
  return found
}
