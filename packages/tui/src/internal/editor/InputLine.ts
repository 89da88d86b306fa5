/** Owns the input: its text, the texts before it, and what each key does to them. */
import { escapeWords } from "../../Escape.ts"
import type { Key, KeyName } from "../../Key.ts"
import { widthOf } from "../../Width.ts"
import { type Deletion, graphemesOf, type Move, TextBuffer } from "./TextBuffer.ts"

/** Texts that are longer are folded: in characters, and in lines. */
const longest = { characters: 1_000, lines: 10 }

/** Characters that stand for a folded text: they are private, and have no meaning of their own. */
const first = 0xf_0000
const last = 0xf_fffd

// Built from numbers: the characters themselves cannot be seen in a source.
const token = new RegExp(`[${String.fromCodePoint(first)}-${String.fromCodePoint(last)}]`, "gu")

const tokenOf = (at: number): string => String.fromCodePoint(Math.min(last, first + at))

const linesOf = (text: string): number => text.split("\n").length

/** Line breaks as the input has them; characters that stand for folded texts are taken away. */
const cleaned = (text: string): string => text.replaceAll(/\r\n?/g, "\n").replace(token, "\ufffd")

/** The folded texts of all inputs so far: they are recognised in a text that comes back. */
export class Pastes {
  readonly #texts: Array<string> = []

  /** What is to be inserted for a pasted text: the text, or the character that stands for it. */
  fold(pasted: string): string {
    const text = cleaned(pasted)
    if (text.length <= longest.characters && linesOf(text) <= longest.lines) return text
    const known = this.#texts.indexOf(text)
    if (known >= 0) return tokenOf(known)
    this.#texts.push(text)
    return tokenOf(this.#texts.length - 1)
  }

  /** A text as it stood in the input: what was pasted folded before is folded again. */
  refold(whole: string): string {
    const known = this.#texts.map((text, at) => ({ text, token: tokenOf(at) }))
    return known.toSorted((a, b) => b.text.length - a.text.length).reduce(
      (text, paste) => text.replaceAll(paste.text, () => paste.token),
      cleaned(whole)
    )
  }

  /** The text that a character stands for; undefined for any other. */
  textOf(character: string): string | undefined {
    const at = (character.codePointAt(0) ?? 0) - first
    return at < 0 ? undefined : this.#texts[at]
  }

  /** How it is shown; undefined for a character that stands for itself. */
  labelOf(character: string): string | undefined {
    const text = this.textOf(character)
    if (text === undefined) return undefined
    const lines = linesOf(text)
    const size = lines === 1 ? `${text.length} characters` : `${lines} lines`
    return `[Pasted text ${(character.codePointAt(0) ?? 0) - first + 1}: ${size}]`
  }

  /** A text with all that is folded in it. */
  unfold(text: string): string {
    return text.replace(token, (character) => this.textOf(character) ?? "")
  }
}

/** One row: what is shown of the text from `start` on, and the columns at which the places in it stand. */
interface InputRow {
  readonly shown: string
  /** Each place in this row, with its column; the last one is the end of the row. */
  readonly places: ReadonlyArray<{ readonly at: number; readonly column: number }>
}

/** Rows with a cursor. */
interface InputLayout {
  readonly rows: ReadonlyArray<InputRow>
  readonly row: number
  readonly column: number
}

/** How a character is shown: what is folded as its label, what a terminal would obey or hide as what it is. */
const shownAs = (grapheme: string, labelOf: (character: string) => string | undefined): string =>
  labelOf(grapheme) ?? (grapheme === "\t" ? "  " : escapeWords(grapheme))

interface Growing {
  shown: string
  places: Array<{ readonly at: number; readonly column: number }>
  width: number
}

/** Lays it out in so many columns. */
export const layoutInput = (
  text: string,
  cursor: number,
  columns: number,
  labelOf: (character: string) => string | undefined = () => undefined
): InputLayout => {
  const limit = Math.max(4, columns)
  const rows: Array<InputRow> = []
  let at = 0
  for (const line of text.split("\n")) {
    let row: Growing = { shown: "", places: [], width: 0 }
    for (const grapheme of graphemesOf(line)) {
      const shown = shownAs(grapheme, labelOf)
      const width = widthOf(shown)
      if (row.width > 0 && row.width + width > limit) {
        rows.push(row)
        row = { shown: "", places: [], width: 0 }
      }
      row.places.push({ at, column: row.width })
      row.shown += shown
      row.width += width
      at += grapheme.length
    }
    row.places.push({ at, column: row.width })
    rows.push(row)
    at++
  }
  // The place between two rows of one line belongs to the second one.
  const found = rows.findIndex(({ places }) => places.some((place) => place.at === cursor))
  const row = Math.max(0, found)
  const column = rows[row]?.places.find((place) => place.at === cursor)?.column ?? 0
  return { rows, row, column }
}

/** The place in the row above (-1) or below (1) the cursor, nearest to a column; undefined where there is no such row. */
export const placeBeside = ({ row, rows }: InputLayout, step: -1 | 1, column: number): number | undefined => {
  const target = rows[row + step]
  if (target === undefined) return undefined
  return target.places.findLast((place) => place.column <= column)?.at ?? target.places[0]?.at
}

const moves: Partial<Record<KeyName, Move>> = {
  "left": "left",
  "right": "right",
  "ctrl+left": "wordLeft",
  "alt+left": "wordLeft",
  "alt+b": "wordLeft",
  "ctrl+right": "wordRight",
  "alt+right": "wordRight",
  "alt+f": "wordRight",
  "home": "lineStart",
  "ctrl+a": "lineStart",
  "end": "lineEnd",
  "ctrl+e": "lineEnd",
  "ctrl+home": "start",
  "ctrl+end": "end"
}

const deletions: Partial<Record<KeyName, Deletion>> = {
  "backspace": "left",
  "ctrl+h": "left",
  "shift+backspace": "left",
  "delete": "right",
  "ctrl+d": "right",
  "ctrl+w": "wordLeft",
  "alt+backspace": "wordLeft",
  "ctrl+backspace": "wordLeft",
  "ctrl+delete": "wordRight",
  "alt+d": "wordRight",
  "ctrl+u": "toLineStart",
  "ctrl+k": "toLineEnd"
}

const newLines: ReadonlySet<string> = new Set(["shift+enter", "alt+enter", "ctrl+j", "ctrl+enter"])

/** How many earlier inputs are kept. */
const mostKept = 1_000

/** Pasted paths of images become names of files, as if they had been typed behind `@`. */
const imagePath = /^\s*'?((?:\/|~\/|\.{1,2}\/)[^\n']*\.(?:png|jpe?g|gif|webp))'?\s*$/i

/** The input. */
export class InputLine {
  readonly #buffer = new TextBuffer()
  readonly #pastes = new Pastes()
  #history: Array<string> = []
  /** The place in the history; its length for what is new. */
  #at = 0
  #draft = ""
  #column: number | undefined
  columns = 80

  get text(): string {
    return this.#buffer.text
  }

  get cursor(): number {
    return this.#buffer.cursor
  }

  get isEmpty(): boolean {
    return this.#buffer.text === ""
  }

  /** Earlier inputs, the oldest first. */
  get history(): ReadonlyArray<string> {
    return this.#history
  }

  /** What is sent: with all that is folded. */
  get whole(): string {
    return this.#pastes.unfold(this.#buffer.text)
  }

  get layout() {
    return layoutInput(
      this.#buffer.text,
      this.#buffer.cursor,
      this.columns,
      (character) => this.#pastes.labelOf(character)
    )
  }

  /** Puts earlier inputs before those of this session. */
  load(history: ReadonlyArray<string>): void {
    this.#history = [...history, ...this.#history].slice(-mostKept)
    this.#at = this.#history.length
  }

  /** Keeps a text as an earlier input. */
  keep(text: string): void {
    if (this.#history.at(-1) !== text) this.#history.push(text)
    if (this.#history.length > mostKept) this.#history.shift()
    this.#at = this.#history.length
  }

  /** Empties the input. */
  clear(): void {
    this.#buffer.reset()
    this.#at = this.#history.length
  }

  /** Replaces everything, such as by what was sent before. */
  set(text: string): void {
    this.#buffer.set(this.#pastes.refold(text))
  }

  /** Replaces what stands between a place and the cursor. */
  replace(from: number, text: string): void {
    this.#buffer.replace(from, text)
  }

  /** Takes a key; `submit` where the text is to be sent. */
  press(key: Key): "submit" | undefined {
    if (key.type === "text") this.#buffer.insert(key.text)
    if (key.type === "paste") this.#paste(key.text)
    if (key.type !== "key") return undefined
    const { name } = key
    const [move, deletion] = [moves[name], deletions[name]]
    if (name !== "up" && name !== "down") this.#column = undefined
    if (move !== undefined) this.#buffer.move(move)
    else if (deletion !== undefined) this.#buffer.delete(deletion)
    else if (newLines.has(name)) this.#buffer.insert("\n")
    else if (name === "enter") return this.#enter()
    else if (name === "up") this.#vertical(-1)
    else if (name === "down") this.#vertical(1)
    else if (name === "ctrl+y") this.#buffer.yank()
    else if (name === "alt+u") this.#buffer.undo()
    else if (name === "alt+r") this.#buffer.redo()
    return undefined
  }

  #paste(text: string): void {
    const image = imagePath.exec(text)?.[1]
    this.#buffer.insert(image === undefined ? this.#pastes.fold(text) : `@${image} `)
  }

  #enter(): "submit" | undefined {
    const { cursor, text } = this.#buffer
    if (cursor !== text.length || !text.endsWith("\\")) return "submit"
    this.#buffer.replace(cursor - 1, "\n")
    return undefined
  }

  #vertical(step: -1 | 1): void {
    const layout = this.layout
    this.#column ??= layout.column
    const place = placeBeside(layout, step, this.#column)
    if (place !== undefined) return this.#buffer.place(place)
    this.#recall(this.#at + step)
  }

  /** An earlier input, or the one that was begun. */
  #recall(at: number): void {
    if (at < 0 || at > this.#history.length) return
    if (this.#at === this.#history.length) this.#draft = this.#buffer.text
    this.#at = at
    const earlier = this.#history[at]
    if (earlier === undefined) this.#buffer.set(this.#draft)
    else this.set(earlier)
  }
}
