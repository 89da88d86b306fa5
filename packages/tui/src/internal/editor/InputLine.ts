/** Owns the input: its text, the texts before it, and what each key does to them. */
import type { Key, KeyName } from "../../Key.ts"
import { layoutInput, placeBeside } from "./layout.ts"
import { Pastes } from "./Pastes.ts"
import { type Deletion, type Move, TextBuffer } from "./TextBuffer.ts"

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
