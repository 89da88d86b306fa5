/** Turns Markdown into lines for a terminal, as it comes: each source line is final once it is complete, but for tables. */
import type { Paint, Style } from "../../Style.ts"
import { fit, widthOf } from "../../Width.ts"
import { painted, type Run, runsWidth, wrapRuns } from "./runs.ts"

/** How far the end of a mark may be, in characters. */
const longestMark = 2_000

const both = (outer: Paint | undefined, inner: Paint): Paint =>
  outer === undefined ? inner : (text) => outer(inner(text))

/** Marks that stand around what they change; the longer ones are looked for first. */
const marksOf = ({ bold, italic, strike }: Style): ReadonlyArray<readonly [mark: string, paint: Paint]> => [
  ["***", (text) => bold(italic(text))],
  ["**", bold],
  ["__", bold],
  ["~~", strike],
  ["*", italic],
  ["_", italic]
]

const isWord = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}]/u.test(character)

/** The place of a closing mark; -1 where the mark is only a character. */
const closing = (text: string, mark: string, from: number): number => {
  const first = text[from]
  if (first === undefined || /\s/.test(first)) return -1
  // `snake_case_words` are no emphasis.
  if (mark.startsWith("_") && isWord(text[from - mark.length - 1])) return -1
  let at = text.indexOf(mark, from + 1)
  while (at >= 0 && at - from < longestMark) {
    const isEnd = !/\s/.test(text[at - 1] ?? " ") && !(mark.startsWith("_") && isWord(text[at + mark.length]))
    if (isEnd) return at
    at = text.indexOf(mark, at + 1)
  }
  return -1
}

const link = /^!?\[([^[\]]{0,500})\]\(([^()\s]{1,2000})(?:\s[^()]{0,200})?\)/

/** Reads a line; `base` is the style around it. */
const inline = (text: string, style: Style, base?: Paint): ReadonlyArray<Run> => {
  const runs: Array<Run> = []
  let plain = ""
  let at = 0
  const flush = () => {
    if (plain !== "") runs.push({ text: plain, paint: base })
    plain = ""
  }
  const marks = marksOf(style)
  while (at < text.length) {
    const character = text[at] ?? ""
    if (character === "\\" && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? "")) {
      plain += text[at + 1]
      at += 2
      continue
    }
    if (character === "`") {
      const [ticks = "`"] = /^`+/.exec(text.slice(at, at + 16)) ?? []
      const end = text.indexOf(ticks, at + ticks.length)
      if (end > 0 && end - at < longestMark) {
        flush()
        runs.push({ text: text.slice(at + ticks.length, end), paint: both(base, style.cyan) })
        at = end + ticks.length
        continue
      }
    }
    if (character === "[" || (character === "!" && text[at + 1] === "[")) {
      const found = link.exec(text.slice(at, at + 2_800))
      if (found !== null) {
        const [whole, label = "", target = ""] = found
        flush()
        if (label !== "" && label !== target) runs.push(...inline(label, style, base), { text: " ", paint: base })
        runs.push({
          text: label === "" || label === target ? target : `(${target})`,
          paint: both(base, style.underline)
        })
        at += whole.length
        continue
      }
    }
    const mark = marks.find(([each]) => text.startsWith(each, at))
    const end = mark === undefined ? -1 : closing(text, mark[0], at + mark[0].length)
    if (mark !== undefined && end >= 0) {
      flush()
      runs.push(...inline(text.slice(at + mark[0].length, end), style, both(base, mark[1])))
      at = end + mark[0].length
      continue
    }
    const step = mark?.[0].length ?? 1
    plain += text.slice(at, at + step)
    at += step
  }
  flush()
  return runs
}

const words = new Set(
  ("abstract and as async await break case catch class const continue def default del delete do done elif else end enum " +
    "esac export extends false fi final finally fn for from func function if impl implements import in interface is lambda let " +
    "match mod module mut namespace new nil none not null of or package pass private protected pub public raise return select " +
    "self static struct super switch then this throw throws trait true try type typeof undefined union unless until use using " +
    "val var void when where while with yield None True False SELECT FROM WHERE INSERT UPDATE DELETE CREATE TABLE JOIN ON")
    .split(" ")
)

/** Languages in which `#` begins a comment, and those in which `--` does. */
const hashes =
  /^(?:sh|bash|zsh|shell|console|py|python|rb|ruby|yaml|yml|toml|dockerfile|make|makefile|perl|r|elixir|ini|conf)$/
const dashes = /^(?:sql|lua|haskell|hs|elm|ada)$/

const token =
  /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)|(\b\d\w*(?:\.\d\w*)*)|([A-Za-z_$][\w$]*)|(\s+)|([^\w\s"'`$]+|["'`$])/g

/** The longest line that is coloured, in characters. */
const longest = 2_000

const commentIn = (text: string, language: string): number => {
  if (hashes.test(language)) return text.search(/(?:^|\s)#/)
  if (dashes.test(language)) return text.indexOf("--")
  if (/^\s*(?:\*|\/\*)/.test(text)) return 0
  return text.search(/(?:^|[^:])\/\//)
}

/** A line of code as runs. The text is escaped. */
export const code = (text: string, language: string, style: Style): ReadonlyArray<Run> => {
  if (text.length > longest || language === "text" || language === "txt") return [{ text, paint: undefined }]
  if (language === "diff" || language === "patch") {
    const paint = text.startsWith("+") ? style.green : text.startsWith("-") ? style.red : undefined
    return [{ text, paint }]
  }
  const from = commentIn(text, language)
  const body = from < 0 ? text : text.slice(0, from)
  // A mark of a comment inside of a string is none.
  const isString = (body.match(/["'`]/g)?.length ?? 0) % 2 === 1
  const [coloured, comment] = isString ? [text, ""] : [body, from < 0 ? "" : text.slice(from)]
  const runs: Array<Run> = []
  let end = 0
  for (const { 0: whole, 1: string, 2: number, 3: word, index } of coloured.matchAll(token)) {
    // What no pattern knows is shown like anything else: a command may not lose a character.
    if (index > end) runs.push({ text: coloured.slice(end, index), paint: undefined })
    end = index + whole.length
    const paint = string !== undefined
      ? style.green
      : number !== undefined
      ? style.magenta
      : word !== undefined && words.has(word)
      ? style.blue
      : undefined
    runs.push({ text: whole, paint })
  }
  if (end < coloured.length) runs.push({ text: coloured.slice(end), paint: undefined })
  return comment === "" ? runs : [...runs, { text: comment, paint: style.dim }]
}

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
const table = (lines: ReadonlyArray<string>, columns: number, style: Style): ReadonlyArray<string> => {
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

/** How many rows of a table are laid out together. */
const mostRows = 200

interface Fence {
  readonly marks: string
  readonly language: string
}

/** A text in Markdown. Its lines are escaped, and have no line breaks. */
export class Markdown {
  readonly #style: Style
  #fence: Fence | undefined
  #table: Array<string> = []

  constructor(style: Style) {
    this.#style = style
  }

  /** The rows that a complete line leads to, none wider than `columns`. */
  line(source: string, columns: number): ReadonlyArray<string> {
    const text = source.replaceAll("\t", "  ")
    if (this.#fence !== undefined) return this.#inFence(text, this.#fence, columns)
    if (/^\s{0,3}\|.*\|/.test(text) && this.#table.length < mostRows) {
      this.#table.push(text)
      return []
    }
    return [...this.flush(columns), ...this.#block(text, columns)]
  }

  /** The rows of what was held back. */
  flush(columns: number): ReadonlyArray<string> {
    const lines = this.#table
    this.#table = []
    return lines.length === 0 ? [] : table(lines, columns, this.#style)
  }

  /** How the beginning of a line looks that is not complete; what is held back stands before it. */
  preview(source: string, columns: number): ReadonlyArray<string> {
    const text = source.replaceAll("\t", "  ")
    const held = this.#table.length === 0 ? [] : table(this.#table, columns, this.#style)
    if (this.#fence !== undefined) return this.#code(text, this.#fence, columns)
    return text === "" ? held : [...held, ...this.#block(text, columns, true)]
  }

  /** Begins anew. */
  reset(): void {
    this.#fence = undefined
    this.#table = []
  }

  #inFence(text: string, fence: Fence, columns: number): ReadonlyArray<string> {
    const end = /^\s{0,3}(`{3,}|~{3,})\s*$/.exec(text)?.[1]
    if (end === undefined || !end.startsWith(fence.marks)) return this.#code(text, fence, columns)
    this.#fence = undefined
    return []
  }

  #code(text: string, { language }: Fence, columns: number): ReadonlyArray<string> {
    // Wrapped and not cut: a person may want to copy it.
    return wrapRuns(code(text, language, this.#style), columns, "  ", "  ")
  }

  #block(text: string, columns: number, isPreview = false): ReadonlyArray<string> {
    const { bold, cyan, dim } = this.#style
    const fence = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$/.exec(text)
    if (fence !== null) {
      if (!isPreview) this.#fence = { marks: fence[1] ?? "```", language: (fence[2] ?? "").toLowerCase() }
      return fence[2] === "" || fence[2] === undefined ? [] : [dim(fit(`  ${fence[2]}`, columns))]
    }
    const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(text)
    if (heading !== null) return wrapRuns(inline(heading[2] ?? "", this.#style, (each) => bold(cyan(each))), columns)
    if (/^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/.test(text)) return [dim("─".repeat(Math.min(columns, 40)))]
    const quote = /^\s{0,3}>\s?(.*)$/.exec(text)
    if (quote !== null) {
      return wrapRuns(inline(quote[1] ?? "", this.#style, dim), columns - 2).map((row) => `${dim("│")} ${row}`)
    }
    const item = /^(\s*)([-*+]|\d{1,9}[.)])(\s+)(.*)$/.exec(text)
    if (item !== null) {
      const [, indent = "", mark = "", , said = ""] = item
      const box = /^\[([ xX])\]\s+(.*)$/.exec(said)
      const bullet = /\d/.test(mark) ? mark : box === null ? "•" : box[1] === " " ? "☐" : "☑"
      const first = `${indent.slice(0, 24)}${bullet} `
      return wrapRuns(inline(box?.[2] ?? said, this.#style), columns, first, " ".repeat(first.length))
    }
    const [indent = ""] = /^\s*/.exec(text) ?? []
    if (text.trim() === "") return [""]
    const lead = indent.slice(0, 24)
    const runs = inline(text.slice(indent.length), this.#style)
    return wrapRuns(runs, columns, lead, lead)
  }
}
