/** Owns the lower part of a terminal, which is redrawn, and the permanent lines above it. */
import { widthOf } from "./width.ts"

const hideCursor = "\x1b[?25l"
const showCursor = "\x1b[?25h"
/** What stands between them is shown at once where the terminal knows how. */
const synchronized = { begin: "\x1b[?2026h", end: "\x1b[?2026l" }

/** Where to write, and how wide that is now. */
export interface ScreenOptions {
  readonly write: (text: string) => void
  readonly columns: () => number
}

/** The lower part of a terminal. What is given to it is escaped, and may have colours. */
export class Screen {
  readonly #options: ScreenOptions
  /** The lines that stand there now, without colours: their rows are counted anew when the terminal gets narrower. */
  #drawn: ReadonlyArray<string> = []
  #last = ""

  constructor(options: ScreenOptions) {
    this.#options = options
  }

  /** Prints permanent lines above, and draws the lower part below them. Each line of it fits the terminal. */
  draw(above: ReadonlyArray<string>, below: ReadonlyArray<string>): void {
    const next = below.join("\n")
    if (above.length === 0 && next === this.#last) return
    const printed = above.map((line) => `${line}\n`).join("")
    this.#options.write(`${synchronized.begin}${hideCursor}${this.#clear()}${printed}${next}${synchronized.end}`)
    this.#last = next
    this.#drawn = below.map(withoutColours)
  }

  /** Takes the lower part away, and gives the cursor back. */
  close(above: ReadonlyArray<string> = []): void {
    this.#options.write(`${this.#clear()}${above.map((line) => `${line}\n`).join("")}${showCursor}`)
    this.#drawn = []
    this.#last = ""
  }

  #clear(): string {
    if (this.#drawn.length === 0) return ""
    const columns = this.#options.columns()
    const rows = this.#drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0)
    // Line by line: to clear all below the first row of the glass is what some terminals keep in their scrollback.
    return `\r\x1b[2K${"\x1b[1A\x1b[2K".repeat(rows - 1)}`
  }
}

// The colours are our own: text of others has been escaped.
// oxlint-disable-next-line no-control-regex -- SGR sequences begin with ESC
const withoutColours = (line: string): string => line.replace(/\x1b\[[\d;]*m/g, "")
