/** A terminal without glass: obeys what the screen uses, and knows what would be seen. */
import { widthOf } from "../../src/internal/terminal/width.ts"

/** Rows of text, of which the last `rows` are on the glass and the others have scrolled away. */
export class VirtualTerminal {
  readonly columns: number
  readonly rows: number
  #lines: Array<string> = [""]
  #row = 0
  #column = 0
  cursorIsShown = true

  constructor(columns: number, rows: number) {
    this.columns = columns
    this.rows = rows
  }

  /** Everything that was printed and not wiped, the scrolled away rows first. */
  get text(): ReadonlyArray<string> {
    return this.#lines.map((line) => line.trimEnd())
  }

  write(text: string): void {
    // oxlint-disable-next-line no-control-regex -- a terminal obeys what begins with ESC
    for (const token of text.match(/\u001b\[[\d;?]*[A-Za-z]|[^]/gu) ?? []) this.#obey(token)
  }

  #obey(token: string): void {
    if (token === "\u001b[?25l") this.cursorIsShown = false
    else if (token === "\u001b[?25h") this.cursorIsShown = true
    else if (token === "\u001b[J") {
      // As terminals do that save what is on the glass before all of it is cleared.
      if (this.#column === 0 && this.#row === Math.max(0, this.#lines.length - this.rows)) {
        this.#row = this.#lines.length
        this.#lines.push("")
        return
      }
      this.#lines.length = this.#row + 1
      this.#lines[this.#row] = (this.#lines[this.#row] ?? "").slice(0, this.#column)
    } else if (token === "\u001b[2K") {
      this.#lines[this.#row] = ""
      while (this.#lines.length > this.#row + 1 && this.#lines.at(-1) === "") this.#lines.pop()
    } else if (token.endsWith("A")) {
      const top = Math.max(0, this.#lines.length - this.rows)
      this.#row = Math.max(top, this.#row - Number(token.slice(2, -1)))
    } else if (token === "\r") this.#column = 0
    else if (token === "\n") this.#down()
    else if (!token.startsWith("\u001b")) this.#put(token)
  }

  #down(): void {
    this.#row++
    this.#column = 0
    if (this.#row === this.#lines.length) this.#lines.push("")
  }

  #put(character: string): void {
    const width = widthOf(character)
    if (this.#column + width > this.columns) this.#down()
    const line = this.#lines[this.#row] ?? ""
    this.#lines[this.#row] = line.slice(0, this.#column) + character + " ".repeat(Math.max(0, width - character.length))
    this.#column += Math.max(width, character.length)
  }
}
