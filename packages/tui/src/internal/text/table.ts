/** Lays out a table of Markdown in columns. */
import type { Style } from "../../Style.ts"
import { fit, widthOf } from "../../Width.ts"
import { inline } from "./inline.ts"
import { painted, runsWidth } from "./runs.ts"

const cellsOf = (line: string): ReadonlyArray<string> =>
  line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim())

const isRule = (line: string): boolean => /^[\s|:-]+$/.test(line) && line.includes("-")

/** The narrowest that a column becomes. */
const least = 4

/** The widths of the columns: as wide as what is in them, the widest ones give way first. */
const widthsFor = (
  rows: ReadonlyArray<ReadonlyArray<string>>,
  style: Style,
  columns: number
): ReadonlyArray<number> => {
  const count = Math.max(...rows.map((row) => row.length))
  const widths = Array.from(
    { length: count },
    (_, at) => Math.max(1, ...rows.map((row) => runsWidth(inline(row[at] ?? "", style))))
  )
  const room = columns - 3 * (count - 1)
  let over = widths.reduce((sum, width) => sum + width, 0) - room
  while (over > 0) {
    const widest = Math.max(...widths)
    if (widest <= least) break
    const at = widths.indexOf(widest)
    const second = Math.max(least, ...widths.filter((width) => width < widest))
    const less = Math.min(over, Math.max(1, widest - second))
    widths[at] = widest - less
    over -= less
  }
  return widths
}

/** The lines of a table. */
export const table = (lines: ReadonlyArray<string>, columns: number, style: Style): ReadonlyArray<string> => {
  const hasHead = lines[1] !== undefined && isRule(lines[1])
  const rows = lines.filter((line) => !isRule(line)).map(cellsOf)
  if (rows.length === 0) return lines.map((line) => fit(line, columns))
  const widths = widthsFor(rows, style, columns)
  const cell = (text: string, width: number, isHead: boolean): string => {
    const runs = inline(text, style, isHead ? style.bold : undefined)
    if (runsWidth(runs) <= width) return painted(runs) + " ".repeat(width - runsWidth(runs))
    const cut = fit(runs.map((run) => run.text).join(""), width)
    return (isHead ? style.bold(cut) : cut) + " ".repeat(Math.max(0, width - widthOf(cut)))
  }
  const drawn = rows.map((row, at) =>
    widths.map((width, column) => cell(row[column] ?? "", width, hasHead && at === 0)).join(style.dim(" │ ")).trimEnd()
  )
  const rule = style.dim(widths.map((width) => "─".repeat(width)).join("─┼─"))
  return hasHead ? [drawn[0] ?? "", rule, ...drawn.slice(1)] : drawn
}
