/** Turns Markdown into lines for a terminal, as it comes: each source line is final once it is complete, but for tables. */
import type { Style } from "../../Style.ts"
import { fit } from "../../Width.ts"
import { code } from "./code.ts"
import { inline } from "./inline.ts"
import { wrapRuns } from "./runs.ts"
import { table } from "./table.ts"

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
