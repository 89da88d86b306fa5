/** Lays out text of other programs for a full-screen view: cells between tabs stand in columns, and words are wrapped. */
import { widthOf } from "../../Width.ts"
import { wrapRuns } from "../text/runs.ts"

const gap = "  "

/** How wide a column gets; longer cells push what follows to the right. */
const widest = 40

/** Lines of at most so many columns. The text is escaped. */
export const inColumns = (text: string, columns: number): ReadonlyArray<string> => {
  const rows = text.split("\n").map((line) => line.split("\t"))
  const widths: Array<number> = []
  for (const cells of rows) {
    for (const [index, cell] of cells.slice(0, -1).entries()) {
      widths[index] = Math.max(widths[index] ?? 0, Math.min(widest, widthOf(cell)))
    }
  }
  return rows.flatMap((cells) => {
    const before = cells.slice(0, -1).map((cell, index) =>
      `${cell}${" ".repeat(Math.max(0, (widths[index] ?? 0) - widthOf(cell)))}${gap}`
    )
    const indent = before.length === 0 ? "  " : gap.repeat(2)
    return wrapRuns([{ text: [...before, cells.at(-1) ?? ""].join(""), paint: undefined }], columns, "", indent)
  })
}
