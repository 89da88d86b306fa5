/** Owns the lower part of a terminal, which is redrawn, and the permanent lines above it. */
import { widthOf } from "./Width.ts"

const hideCursor = "\x1b[?25l"
const showCursor = "\x1b[?25h"
/** Terminals that know it show what stands between them at once. */
const synchronized = { begin: "\x1b[?2026h", end: "\x1b[?2026l" }
const alternate = { begin: "\x1b[?1049h", end: "\x1b[?1049l" }
const clearToEnd = "\x1b[K"
const clearLine = "\x1b[2K"

/**
 * What a terminal does when it gets narrower: it wraps all lines (`all`), or cuts them off (`none`). `xtermJs` wraps them
 * from the last one up, cuts off the line with the cursor, and moves the cursor down by all rows that this adds.
 */
export type Reflow = "all" | "xtermJs" | "none"

/** The size of a terminal, in characters. */
export interface Size {
  readonly columns: number
  readonly rows: number
}

/** Where to write, and how large that is now. */
export interface ScreenOptions {
  /** Writes to the terminal, whose line breaks go to the first column, as those of Unix do. */
  readonly write: (text: string) => void
  readonly size: () => Size
  readonly reflow?: Reflow
}

/**
 * How long a terminal keeps its size before anything is drawn on it again, in milliseconds. While an edge is dragged, a
 * program counts rows of a size that the terminal no longer has; tmux tells it the last size up to 250 ms late.
 */
const settling = 300

/** A place in the lines that are drawn. */
export interface Place {
  readonly row: number
  readonly column: number
}

/** What stands on the terminal now, and the size that it was drawn for. */
interface Drawn extends Size {
  readonly lines: ReadonlyArray<string>
  /** The place of the terminal's cursor. */
  readonly cursor: Place
  readonly isCursorShown: boolean
}

/** The lower part of a terminal. The lines must be escaped, and may have colours. */
export class Screen {
  readonly #options: ScreenOptions
  #drawn: Drawn | undefined
  #full: ReadonlyArray<string> | undefined
  #seen: (Size & { readonly since: number }) | undefined

  constructor(options: ScreenOptions) {
    this.#options = options
  }

  /** The size to lay out and draw the next frame for; undefined where none may be drawn yet. `steady` is in milliseconds. */
  measure(steady: number): Size | undefined {
    const size = this.#options.size()
    const seen = this.#seen
    const isSame = seen?.columns === size.columns && seen.rows === size.rows
    const since = isSame ? seen.since : seen === undefined ? Number.NEGATIVE_INFINITY : steady
    this.#seen = { ...size, since }
    return steady - since < settling ? undefined : size
  }

  /**
   * Prints permanent lines above, and draws the lower part below them. Each line of it should fit the terminal; `cursor`
   * is where the cursor blinks, which is hidden without it.
   */
  draw(above: ReadonlyArray<string>, below: ReadonlyArray<string>, cursor?: Place, size = this.#options.size()): void {
    const next = this.#fitted(below, cursor, size)
    const before = this.#drawn
    const leaves = this.#full === undefined ? "" : alternate.end
    this.#full = undefined
    const isSameSize = before !== undefined && before.columns === size.columns && before.rows === size.rows
    const painted = isSameSize && above.length === 0 && next.lines.length > 0
      ? this.#changed(before, next)
      : this.#whole(above, next, before)
    if (painted === "" && leaves === "") return
    this.#write(leaves + painted + (next.isCursorShown ? showCursor : ""))
    this.#drawn = next
  }

  /** Draws the whole terminal, beside its scrollback; `draw` goes back to where it was. */
  drawFull(lines: ReadonlyArray<string>, { rows } = this.#options.size()): void {
    const before = this.#full
    const next = Array.from({ length: rows }, (_, row) => lines[row] ?? "")
    const changes = next.flatMap((line, row) =>
      before?.length === rows && before[row] === line ? [] : [`\x1b[${row + 1};1H${line}${clearToEnd}`]
    )
    if (changes.length === 0) return
    this.#write(`${before === undefined ? alternate.begin : ""}${changes.join("")}`)
    this.#full = next
  }

  /** Takes the lower part away, and gives the cursor back. */
  close(above: ReadonlyArray<string> = []): void {
    const leaves = this.#full === undefined ? "" : alternate.end
    this.#full = undefined
    this.#options.write(
      `${leaves}${this.#clear(this.#options.size())}${above.map((line) => `${line}\n`).join("")}${showCursor}`
    )
    this.#drawn = undefined
  }

  /** Forgets what was drawn: somebody else has written to the terminal. */
  forget(): void {
    this.#drawn = undefined
    this.#full = undefined
  }

  #write(text: string): void {
    this.#options.write(`${synchronized.begin}${hideCursor}${text}${synchronized.end}`)
  }

  /** What cannot be on the terminal cannot be taken away from it again. */
  #fitted(below: ReadonlyArray<string>, cursor: Place | undefined, { columns, rows }: Size): Drawn {
    const cut = Math.max(0, below.length - rows)
    const lines = cut === 0 ? below : below.slice(cut)
    const isCursorShown = cursor !== undefined && cursor.row >= cut && cursor.row < below.length
    const last = Math.max(0, lines.length - 1)
    return {
      lines,
      cursor: isCursorShown
        ? { row: cursor.row - cut, column: Math.min(cursor.column, columns - 1) }
        : { row: last, column: plainWidth(lines[last] ?? "") },
      isCursorShown,
      columns,
      rows
    }
  }

  /** Writes only the lines that differ. */
  #changed(before: Drawn, next: Drawn): string {
    let text = ""
    let row = before.cursor.row
    const last = before.lines.length - 1
    const goTo = (target: number) => {
      // Below the last line there may be no row yet: a line break makes one, a movement does not.
      const known = Math.min(target, Math.max(row, last))
      if (known < row) text += `\x1b[${row - known}A`
      if (known > row + 1) text += `\x1b[${known - row - 1}B`
      text += known > row ? "\n" : "\r"
      text += "\n".repeat(target - known)
      row = target
    }
    next.lines.forEach((line, at) => {
      if (at <= last && line === before.lines[at]) return
      goTo(at)
      text += `${line}${clearToEnd}`
    })
    for (let at = next.lines.length; at <= last; at++) {
      goTo(at)
      text += clearLine
    }
    const isMoved = before.cursor.row !== next.cursor.row || before.cursor.column !== next.cursor.column
    if (text === "" && !isMoved && before.isCursorShown === next.isCursorShown) return ""
    goTo(next.cursor.row)
    return `${text}${column(next.cursor)}`
  }

  /** Writes everything over what stands there. */
  #whole(above: ReadonlyArray<string>, next: Drawn, before: Drawn | undefined): string {
    if (before === undefined && above.length === 0 && next.lines.length === 0) return ""
    const [up, rows] = before === undefined ? [0, 0] : this.#extent(before, next)
    // A terminal that got narrower has marked rows as continued, and would join them again: only a cleared row loses its mark.
    const unmark = before === undefined || before.columns === next.columns ? "" : clearLine
    // Cleared behind what is written: else a line that fills its row would lose its last character.
    const lines = [...above, ...next.lines].map((line) => `${unmark}${line}${clearToEnd}`)
    const written = lines.length
    if (written === 0) return this.#clear(next)
    // Line by line: some terminals save what is on the glass before all of it is cleared.
    const extra = rows - written
    const rest = extra <= 0 ? "" : `${`\n${clearLine}`.repeat(extra)}\x1b[${extra}A`
    const below = next.lines.length === 0 ? "\n" : ""
    const back = next.lines.length - 1 - next.cursor.row
    return `\r${up === 0 ? "" : `\x1b[${up}A`}${lines.join("\n")}${rest}${below}${back <= 0 ? "" : `\x1b[${back}A`}${
      column(next.cursor)
    }`
  }

  /** How many rows the cursor is below the first one, and how many rows there are, on the terminal as it is now. */
  #extent(
    { columns: drawnIn, cursor, lines }: Drawn,
    { columns, rows: most }: Size
  ): readonly [up: number, rows: number] {
    const { reflow = "all" } = this.#options
    const isWrapped = columns < drawnIn && reflow !== "none"
    let added = 0
    const rows = lines.toReversed().map((line, back) => {
      const at = lines.length - 1 - back
      // What it takes for the line with the cursor moves as well.
      const isCut = reflow === "xtermJs" && at === cursor.row + added
      const taken = isWrapped && !isCut ? rowsIn(line, columns) : 1
      added += taken - 1
      return taken
    }).toReversed()
    const all = rows.reduce((sum, each) => sum + each, 0)
    const inLine = (rows[cursor.row] ?? 1) > 1 ? Math.floor(cursor.column / columns) : 0
    const up = reflow === "xtermJs"
      ? cursor.row + all - rows.length
      : rows.slice(0, cursor.row).reduce((sum, each) => sum + each, 0) + inLine
    return [Math.min(up, most - 1), Math.min(all, most)]
  }

  #clear(size: Size): string {
    if (this.#drawn === undefined || this.#drawn.lines.length === 0) return ""
    const [up, rows] = this.#extent(this.#drawn, size)
    const down = rows - 1 - up
    const toLast = down === 0 ? "" : down > 0 ? `\x1b[${down}B` : `\x1b[${-down}A`
    return `\r${toLast}${clearLine}${`\x1b[1A${clearLine}`.repeat(rows - 1)}`
  }
}

const column = (cursor: Place): string => `\r${cursor.column === 0 ? "" : `\x1b[${cursor.column}C`}`

/** The rows that a line takes on a terminal of so many columns: a wide character is never torn apart. */
const rowsIn = (line: string, columns: number): number => {
  let rows = 1
  let width = 0
  for (const character of withoutColours(line)) {
    const next = widthOf(character)
    if (width + next > columns) {
      rows++
      width = 0
    }
    width += next
  }
  return rows
}

const plainWidth = (line: string): number => widthOf(withoutColours(line))

// The colours are our own: text of others has been escaped.
// oxlint-disable-next-line no-control-regex -- SGR sequences begin with ESC
const withoutColours = (line: string): string => line.replace(/\x1b\[[\d;]*m/g, "")
