/**
 * Reads the tables of programs. A table lists the options that are known to be harmless, what each of them takes, and what
 * the program does with its operands. An option that is not in the table needs a question.
 *
 * A table is a text. It begins with brackets, which contain the kinds of operands, each but the last for one operand, and
 * properties of the whole program. Then come the options. What follows an option says what it takes:
 *
 *     -n        nothing              -k:   a text            --color?   a text after =, or nothing
 *     -f<       a file that is read  -o>   a file that is written       -C/   a directory that is read below
 *     -W*       a text in the same word                                 -#    a number, as in -5
 *     --arg::   two texts
 *
 * After that: `!` it replaces the first operand, `^` the operands are read below, `.` hidden files too.
 */

/** What a value or an operand means to a program. What it packs, it reads and replaces. */
export type Kind = "text" | "read" | "look" | "below" | "write" | "pack" | "url" | "target" | "git" | "remote"

/** What an option takes, and what it changes. */
export interface Option {
  readonly takes: Kind | undefined
  /** Whether its value may only be in the same word. */
  readonly attached: boolean
  /** Whether it takes a second text. */
  readonly twice: boolean
  /** Whether it replaces the first operand. */
  readonly first: boolean
  readonly below: boolean
  readonly hidden: boolean
}

/** What is known about a program. */
export interface Table {
  readonly options: ReadonlyMap<string, Option>
  /** Options with their values in the same word, such as `-Wall`. */
  readonly prefixes: ReadonlyArray<readonly [string, Option]>
  /** Whether a number may be an option. */
  readonly numbers: boolean
  /** The kinds of operands. The last one applies to all further operands. */
  readonly operands: ReadonlyArray<Kind>
  /** The kind of the last operand, if it differs. */
  readonly last: Kind | undefined
  /** Whether options are words after one dash, instead of letters. */
  readonly words: boolean
  /** Whether it does more than read. Then no default allows it. */
  readonly acts: boolean
  /** Whether it reads its working directory if it has no operands. */
  readonly here: boolean
  /** Whether it skips hidden files unless an option says otherwise. */
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

const isKind = (word: string): word is Kind => /^(?:text|read|look|below|write|pack|url|target|git|remote)$/.test(word)

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

/** The table in a text, which is parsed once. */
export const tableOf = (source: string): Table => {
  const found = parsed.get(source) ?? parseTable(source)
  parsed.set(source, found)
  return found
}
