/** A real terminal without glass: what the program writes is what a person would see. */
import xterm from "@xterm/headless"

/** A terminal of this size. */
export class TestTerminal {
  readonly #terminal: InstanceType<typeof xterm.Terminal>
  /** How many bytes were written. */
  written = 0

  constructor(columns: number, rows: number) {
    this.#terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 100_000, allowProposedApi: true })
  }

  get columns(): number {
    return this.#terminal.cols
  }

  get rows(): number {
    return this.#terminal.rows
  }

  write(text: string): void {
    this.written += text.length
    this.#terminal.write(text)
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows)
  }

  /** Ends when all that was written has been shown. */
  settled(): Promise<void> {
    return new Promise((resolve) => this.#terminal.write("", resolve))
  }

  /** Lines as they were written, however they are wrapped: the scrollback first, the empty ones at the end left out. */
  get lines(): ReadonlyArray<string> {
    const buffer = this.#terminal.buffer.active
    const lines: Array<string> = []
    for (let row = 0; row < buffer.length; row++) {
      const line = buffer.getLine(row)
      const next = buffer.getLine(row + 1)
      const text = line?.translateToString(next?.isWrapped !== true) ?? ""
      if (line?.isWrapped === true) lines.push(`${lines.pop() ?? ""}${text}`)
      else lines.push(text)
    }
    while (lines.at(-1) === "") lines.pop()
    return lines
  }

  /** The rows on the glass. */
  get glass(): ReadonlyArray<string> {
    const buffer = this.#terminal.buffer.active
    return Array.from(
      { length: this.rows },
      (_, row) => buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? ""
    )
  }

  /** Where the cursor is on the glass. */
  get cursor(): { readonly row: number; readonly column: number } {
    const { cursorX, cursorY } = this.#terminal.buffer.active
    return { row: cursorY, column: cursorX }
  }

  /** Whether the screen beside the scrollback is shown. */
  get isAlternate(): boolean {
    return this.#terminal.buffer.active.type === "alternate"
  }
}
