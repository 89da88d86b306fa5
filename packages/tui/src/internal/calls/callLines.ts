/** Decides how a call of the main agent looks once it has ended: its line, and what is worth seeing of its result. */
import type { ToolPart } from "@skein/domain/Part"
import { failureOf } from "../../CallFailure.ts"
import { outcomeOf, subjectOf } from "../../CallOutcome.ts"
import { escapeLine } from "../../Escape.ts"
import type { Style } from "../../Style.ts"
import { fit, widthOf, wrap } from "../../Width.ts"

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
const diffLines = (
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

/** How many lines of a command's output are shown, the last ones; of changes, and of todos. */
interface Most {
  readonly output: number
  readonly diff: number
  readonly todos: number
}

const folded: Most = { output: 6, diff: 24, todos: 20 }

const whole: Most = { output: 5_000, diff: 5_000, todos: 5_000 }

const boxes: Readonly<Record<string, string>> = {
  pending: "[ ]",
  in_progress: "[>]",
  completed: "[x]",
  cancelled: "[-]"
}

/** A line as a terminal shows it in the end: what a lone carriage return goes back over is gone. */
const lastWritten = (line: string): string => line.replace(/\r+$/, "").split("\r").at(-1) ?? ""

/** A line of output in so many columns, without its colours: they would only be shown as what they are. */
export const outputLine = (line: string, columns: number): string => {
  // oxlint-disable-next-line no-control-regex -- colours begin with ESC
  const plain = lastWritten(line).slice(0, 1_000).replace(/\u001b\[[\d;]*m/g, "")
  return fit(`    ${escapeLine(plain.replaceAll("\t", "  "))}`, columns)
}

const outputLines = (output: string, columns: number, style: Style, most: number): ReadonlyArray<string> => {
  const lines = output.trimEnd().split("\n")
  const tail = lines.slice(-most)
  const before = lines.length - tail.length
  return [
    ...(before === 0 ? [] : [`    … ${before} ${before === 1 ? "line" : "lines"} before`]),
    ...tail.map((line) => outputLine(line, columns))
  ].map(style.dim)
}

const todoLines = (todos: unknown, columns: number, style: Style, most: number): ReadonlyArray<string> => {
  if (!Array.isArray(todos)) return []
  const each = todos.slice(0, most).map((todo: { readonly content?: unknown; readonly status?: unknown }) => {
    const status = String(todo.status)
    const line = fit(`    ${boxes[status] ?? "[ ]"} ${escapeLine(String(todo.content))}`, columns)
    return status === "in_progress" ? style.bold(line) : status === "pending" ? line : style.dim(line)
  })
  const more = todos.length - each.length
  return more <= 0 ? each : [...each, style.dim(`    … ${more} more`)]
}

const details = ({ state, tool }: ToolPart, columns: number, style: Style, most: Most): ReadonlyArray<string> => {
  if (state.status !== "completed") return []
  const { diff, todos } = state.metadata
  if (tool === "bash") return outputLines(state.output, columns, style, most.output)
  if (tool === "todowrite") return todoLines(todos, columns, style, most.todos)
  return typeof diff === "string" ? diffLines(diff, columns, style, most.diff) : []
}

/** The lines of a call that has ended, none wider than the terminal; long ones are folded, or whole. */
export const callLines = (part: ToolPart, columns: number, style: Style, isWhole = false): ReadonlyArray<string> => {
  const { isGood, text } = outcomeOf(part)
  const mark = isGood ? "•" : "✗"
  const name = escapeLine(part.tool)
  const room = columns - 1
  // A long subject never pushes the result out of the line.
  const short = fit(text, Math.max(20, Math.floor(room * 0.6)))
  // Nothing else says why a task failed: where it is too long for the line, it follows in full.
  const follows = short !== text && failureOf(part)?.taskID !== undefined
  const outcome = follows ? "" : short
  const reason = follows ? wrap(text, room - 4).map((row) => style.red(`    ${row}`)) : []
  const subject = fit(subjectOf(part), Math.max(8, room - widthOf(name) - widthOf(outcome) - 6))
  const about = [name, subject].filter((each) => each !== "").join(" ")
  const line = fit(`${mark} ${about}  ${outcome}`.trimEnd(), room)
  const painted = isGood ? `${style.cyan(line.slice(0, 1))}${line.slice(1)}` : style.red(line)
  return [painted, ...reason, ...details(part, room, style, isWhole ? whole : folded)]
}
