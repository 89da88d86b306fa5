/** Decides how a change of a file looks: its lines with their numbers, coloured, and folded where they are many. */
import { escapeLine } from "../../Escape.ts"
import type { Style } from "../../Style.ts"
import { fit } from "../../Width.ts"

/** The most lines of a change that are shown where it is folded. */
const longest = 24

/** The columns of a line number. */
const digits = 5

interface Numbers {
  old: number
  now: number
}

/** The number that stands before a line: of what goes in the old file, of all else in the new one. */
const numberOf = (line: string, numbers: Numbers | undefined): string => {
  if (numbers === undefined) return ""
  const isOld = line.startsWith("-")
  const number = isOld ? numbers.old : numbers.now
  if (!line.startsWith("+")) numbers.old++
  if (!isOld) numbers.now++
  return `${String(number).padStart(digits)} `
}

const paintOf = (line: string, style: Style) =>
  line.startsWith("+") ? style.green : line.startsWith("-") ? style.red : style.dim

/** The lines of a diff; one without `@@` has no numbers. */
export const diffLines = (
  diff: string,
  columns: number,
  style: Style,
  most = longest
): ReadonlyArray<string> => {
  const lines = diff === "" ? [] : diff.split("\n")
  const shown: Array<string> = []
  let numbers: Numbers | undefined
  for (const line of lines.slice(0, most)) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line)
    if (hunk !== null) {
      const first = (start: string | undefined, count: string | undefined) => Number(start) + (count === "0" ? 1 : 0)
      // Between two places of a file.
      if (numbers !== undefined) shown.push(style.dim("    ⋮"))
      numbers = { old: first(hunk[1], hunk[2]), now: first(hunk[3], hunk[4]) }
    } else if (line.startsWith("+++ ")) {
      numbers = undefined
      shown.push(style.bold(fit(`    ${escapeLine(line.slice(4))}`, columns)))
    } else {
      const text = `    ${numberOf(line, numbers)}${escapeLine(line.replaceAll("\t", "  "))}`
      shown.push(paintOf(line, style)(fit(text, columns)))
    }
  }
  const folded = lines.length - most
  return folded <= 0 ? shown : [...shown, style.dim(`    … ${folded} more ${folded === 1 ? "line" : "lines"}`)]
}
