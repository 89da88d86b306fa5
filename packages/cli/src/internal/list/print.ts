/** Decides how listings look: columns for people, one value for programs. */
import * as Effect from "effect/Effect"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { escapeLine } from "../escape.ts"
import { fit, widthOf } from "../terminal/width.ts"

/** A row of a table; what is not there is empty. */
export type Row = ReadonlyArray<string | undefined>

const pad = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - widthOf(text)))

/** Lines up the columns; on a terminal, what is too wide is cut. */
const table = (rows: ReadonlyArray<Row>, columns: number): string => {
  const cells = rows.map((row) => row.map((cell) => escapeLine(cell ?? "")))
  const widths: Array<number> = []
  for (const row of cells) row.forEach((cell, i) => widths[i] = Math.max(widths[i] ?? 0, widthOf(cell)))
  return cells.map((row) =>
    `${
      fit(row.map((cell, i) => i === row.length - 1 ? cell : pad(cell, widths[i] ?? 0)).join("  ").trimEnd(), columns)
    }\n`
  ).join("")
}

/** Prints a listing: `empty` stands for no rows at all. */
export const printList = (options: {
  readonly format: "default" | "json"
  readonly json: unknown
  readonly head: Row
  readonly rows: ReadonlyArray<Row>
  readonly empty: string
}): Effect.Effect<number, never, Stdio> =>
  Effect.map(Stdio, (stdio) => {
    if (options.format === "json") stdio.out(`${JSON.stringify(options.json, undefined, 2)}\n`)
    else if (options.rows.length === 0) stdio.err(options.empty)
    else stdio.out(table([options.head, ...options.rows], stdio.isTerminal.output ? stdio.size().columns : Infinity))
    return ExitCode.done
  })

/** A time for people: the date, and the time of day in the zone of the machine. */
export const formatTime = (milliseconds: number): string => {
  const date = new Date(milliseconds)
  const two = (value: number) => String(value).padStart(2, "0")
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${
    two(date.getMinutes())
  }`
}
