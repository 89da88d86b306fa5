/** Text in several styles: wrapped at words by the columns that it takes. */
import type { Paint } from "../../Style.ts"
import { widthOf } from "../../Width.ts"

/** A piece of a line in one style; undefined for the terminal's own. The text is escaped. */
export interface Run {
  readonly text: string
  readonly paint: Paint | undefined
}

/** The columns that runs take. */
export const runsWidth = (runs: ReadonlyArray<Run>): number => runs.reduce((sum, { text }) => sum + widthOf(text), 0)

/** Runs as a line with colours. */
export const painted = (runs: ReadonlyArray<Run>): string =>
  runs.map(({ paint, text }) => paint === undefined ? text : paint(text)).join("")

/** Where a row may end: behind spaces, and around wide characters, which have no spaces between them. */
const pieces =
  /\s+|[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60]|[^\s\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff01-\uff60]+/gu

class Rows {
  readonly rows: Array<Array<Run>> = []
  readonly #limit: number
  readonly #next: string
  #row: Array<Run>
  #width: number
  #isEmpty = true

  constructor(limit: number, first: string, next: string) {
    this.#limit = limit
    this.#next = next
    this.#row = first === "" ? [] : [{ text: first, paint: undefined }]
    this.#width = widthOf(first)
  }

  break(): void {
    this.rows.push(this.#row)
    this.#row = this.#next === "" ? [] : [{ text: this.#next, paint: undefined }]
    this.#width = widthOf(this.#next)
    this.#isEmpty = true
  }

  add(text: string, paint: Paint | undefined): void {
    const width = widthOf(text)
    if (this.#width + width <= this.#limit) return this.#put(text, width, paint)
    if (text.trim() === "") return this.#isEmpty ? undefined : this.break()
    if (!this.#isEmpty) this.break()
    if (this.#width + width <= this.#limit) return this.#put(text, width, paint)
    // A word that fits no row is cut.
    for (const character of text) {
      const next = widthOf(character)
      if (this.#width + next > this.#limit && !this.#isEmpty) this.break()
      this.#put(character, next, paint)
    }
  }

  #put(text: string, width: number, paint: Paint | undefined): void {
    const last = this.#row.at(-1)
    if (last !== undefined && last.paint === paint && !this.#isEmpty) {
      this.#row[this.#row.length - 1] = { text: last.text + text, paint }
    } else this.#row.push({ text, paint })
    this.#width += width
    this.#isEmpty = false
  }

  finish(): ReadonlyArray<ReadonlyArray<Run>> {
    if (!this.#isEmpty || this.rows.length === 0) this.rows.push(this.#row)
    return this.rows
  }
}

/** Rows of at most so many columns; the first one begins with `first`, all others with `next`. */
export const wrapRuns = (
  runs: ReadonlyArray<Run>,
  columns: number,
  first = "",
  next = ""
): ReadonlyArray<string> => {
  const limit = Math.max(columns, widthOf(first) + 4, widthOf(next) + 4)
  const rows = new Rows(limit, first, next)
  for (const { paint, text } of runs) {
    for (const [piece] of text.matchAll(pieces)) rows.add(piece, paint)
  }
  return rows.finish().map(painted)
}
