/** Decides how listings look: columns on a terminal, fields with tabs between them in a pipe, or one JSON value. */
import { type ConfigIssue, formatIssue, summarise } from "@skein/config/ConfigError"
import type { Usage } from "@skein/domain/Usage"
import { escapeLine } from "@skein/tui/Escape"
import { fit, widthOf } from "@skein/tui/Width"
import { formatCost, formatCount } from "@skein/view/Numbers"
import * as Effect from "effect/Effect"
import { Stdio, type Streams } from "../Stdio.ts"
import { errorLine } from "./explain.ts"

/** Writes bytes as `12 KB` or `3.4 MB`. */
export const formatBytes = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`

const pad = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - widthOf(text)))

/** The text between two columns. */
const gap = "  "

/** A column is not cut below this width while others are wider. */
const leastWidth = 8

/** The id of a session, a task, an approval and so on. */
const idPattern = /^[a-z]{3}_\w{8,}$/

/** Whether a column holds ids. They are never cut, because people copy them into other commands. */
const holdsIds = (rows: ReadonlyArray<ReadonlyArray<string>>, column: number): boolean =>
  rows[0]?.[column] === "ID" || rows.some((row) => idPattern.test(row[column] ?? ""))

/**
 * Widths that fit the terminal. The widest column is cut first, so that short values stay whole. Columns of ids are not
 * cut.
 */
const fitted = (
  widths: ReadonlyArray<number>,
  columns: number,
  whole: ReadonlyArray<boolean>
): ReadonlyArray<number> => {
  const room = columns - gap.length * (widths.length - 1)
  const all = [...widths]
  for (let over = all.reduce((sum, width) => sum + width, 0) - room; over > 0;) {
    const open = all.filter((_, i) => whole[i] !== true)
    const widest = Math.max(...open)
    const at = all.findIndex((width, i) => width === widest && whole[i] !== true)
    const next = Math.max(leastWidth, ...open.filter((width) => width < widest))
    const cut = Math.min(over, widest - (next < widest ? next : leastWidth))
    if (!(cut > 0)) return all
    all[at] = widest - cut
    over -= cut
  }
  return all
}

/** Aligns the columns. With a width, long values are cut so that each line fits, except for ids. */
const table = (rows: ReadonlyArray<ReadonlyArray<string>>, columns: number): string => {
  const widths: Array<number> = []
  for (const row of rows) row.forEach((cell, i) => widths[i] = Math.max(widths[i] ?? 0, widthOf(cell)))
  const whole = widths.map((_, column) => holdsIds(rows, column))
  const most = fitted(widths, columns, whole)
  const untilIds = most.slice(0, whole.lastIndexOf(true) + 1).reduce((sum, width) => sum + width + gap.length, 0)
  const longest = Math.max(columns, untilIds)
  return rows.map((row) => {
    const cells = row.map((cell, i) => pad(fit(cell, most[i] ?? 0), most[i] ?? 0))
    return `${fit(cells.join(gap).trimEnd(), longest)}\n`
  }).join("")
}

/** Rows for programs and files: nothing is cut or padded, and tabs separate the columns, so that empty ones count. */
const plain = (rows: ReadonlyArray<ReadonlyArray<string>>): string => rows.map((row) => `${row.join("\t")}\n`).join("")

/** Prints one line of a listing as soon as it is known. */
export const printLine = (stdio: Streams, cells: ReadonlyArray<string>): void => {
  const texts = cells.map(escapeLine)
  stdio.out(stdio.isTerminal.output ? `${texts.join(gap).trimEnd()}\n` : plain([texts]))
}

/** How people want it. */
interface Format {
  readonly format: "default" | "json"
}

/** Prints one JSON value. */
export const printJson = (value: unknown): Effect.Effect<void, never, Stdio> =>
  Effect.map(Stdio, ({ out }) => out(`${JSON.stringify(value, undefined, 2)}\n`))

/** Prints a result as JSON, or in words, which end with a line. */
export const printResult = ({ format }: Format, json: unknown, words: string): Effect.Effect<void, never, Stdio> =>
  format === "json" ? printJson(json) : Effect.map(Stdio, ({ out }) => out(words))

/** Writes a line to standard error, for people: what was done, or what they may want to know. */
export const tell = (line: string): Effect.Effect<void, never, Stdio> =>
  Effect.map(Stdio, ({ err }) => err(escapeLine(line)))

/** Writes what went wrong beside the rest to standard error. */
export const warn = (...messages: ReadonlyArray<string>): Effect.Effect<void, never, Stdio> =>
  Effect.map(Stdio, ({ err }) => {
    for (const message of messages) err(errorLine(message))
  })

/** A listing. */
interface Listing<A> {
  readonly items: ReadonlyArray<A>
  /** What is printed as JSON; by default the items. */
  readonly json?: unknown
  /** The columns by their heads, or `false` for one that is not needed; an absent value is empty. */
  readonly columns: Readonly<Record<string, false | ((item: NoInfer<A>) => string | undefined)>>
  /** What is said if there are no items. */
  readonly empty: string
}

/** Prints a listing. `full`: long values are shown whole on a terminal too. */
export const printList = <A>(
  { format, full }: Format & { readonly full: boolean },
  { columns, empty, items, json = items }: Listing<A>
): Effect.Effect<void, never, Stdio> =>
  format === "json" ? printJson(json) : Effect.map(Stdio, (stdio) => {
    if (items.length === 0) return stdio.err(empty)
    const shown = Object.entries(columns).flatMap(([head, cell]) => cell === false ? [] : [{ head, cell }])
    const cells = items.map((item) => shown.map(({ cell }) => escapeLine(cell(item) ?? "")))
    const rows = [shown.map(({ head }) => head), ...cells]
    stdio.out(stdio.isTerminal.output ? table(rows, full ? Infinity : stdio.size().columns) : plain(rows))
  })

/** A time for people: the date, and the time of day in the machine's time zone. */
export const formatTime = (milliseconds: number): string => {
  const date = new Date(milliseconds)
  const two = (value: number) => String(value).padStart(2, "0")
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${
    two(date.getMinutes())
  }`
}

/** Writes to standard error: what users must know in full, the rest as counts in one line. */
export const remark = (issues: ReadonlyArray<ConfigIssue>): Effect.Effect<void, never, Stdio> => {
  const { line, loud } = summarise(issues)
  return warn(...loud.map((issue) => escapeLine(formatIssue(issue))), ...(line === undefined ? [] : [line]))
}

/** The steps, tokens and money that were used. */
export const usageText = ({ cost, steps, tokens }: Usage): string =>
  `${steps} step${steps === 1 ? "" : "s"}, ${formatCount(tokens.input + tokens.output)} tokens, ${formatCost(cost)}`
