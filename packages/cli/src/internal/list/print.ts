/** Decides how listings look: columns on a terminal, fields with tabs between them in a pipe, or one JSON value. */
import { type ConfigIssue, formatIssue, summarise } from "@skein/config/ConfigError"
import { escapeLine } from "@skein/tui/Escape"
import { fit, widthOf } from "@skein/tui/Width"
import * as Effect from "effect/Effect"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio, type Streams } from "../../Stdio.ts"

/** Writes bytes as `12 KB` or `3.4 MB`. */
export const formatBytes = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`

/** A row of a table; an absent value is empty. */
type Row = ReadonlyArray<string | undefined>

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

/** Prints a listing; `empty` is printed if there are no rows. */
export const printList = (options: {
  readonly format: "default" | "json"
  /** Whether long values are shown whole on a terminal too. */
  readonly full: boolean
  readonly json: unknown
  readonly head: Row
  readonly rows: ReadonlyArray<Row>
  readonly empty: string
}): Effect.Effect<number, never, Stdio> =>
  Effect.map(Stdio, (stdio) => {
    if (options.format === "json") stdio.out(`${JSON.stringify(options.json, undefined, 2)}\n`)
    else if (options.rows.length === 0) stdio.err(options.empty)
    else {
      const { head } = options
      const rows = [head, ...options.rows].map((row) => head.map((_, i) => escapeLine(row[i] ?? "")))
      const { output } = stdio.isTerminal
      stdio.out(output ? table(rows, options.full ? Infinity : stdio.size().columns) : plain(rows))
    }
    return ExitCode.done
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
export const remark = (issues: ReadonlyArray<ConfigIssue>): Effect.Effect<void, never, Stdio> =>
  Effect.map(Stdio, (stdio) => {
    const { line, loud } = summarise(issues)
    for (const issue of loud) stdio.err(`skein: ${escapeLine(formatIssue(issue))}`)
    if (line !== undefined) stdio.err(`skein: ${line}`)
  })
