/** Owns a text that is being edited: its cursor, what was deleted last, and what can be undone. */

/** Text in which each unit is a character; a line break is one as well. */
const simple = /^[\n\x20-\x7e]*$/

let segmenter: Intl.Segmenter | undefined

/** What people see as single characters, in order. */
export const graphemesOf = (text: string): ReadonlyArray<string> => {
  if (simple.test(text)) return [...text]
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" })
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

/** Where the line around a place begins and ends, without its break. */
const lineAround = (text: string, at: number): { readonly start: number; readonly end: number } => {
  const end = text.indexOf("\n", at)
  return { start: text.lastIndexOf("\n", at - 1) + 1, end: end < 0 ? text.length : end }
}

/** The nearest place before `at`; 0 at the beginning. */
const before = (text: string, at: number): number => {
  if (at <= 0) return 0
  const { start } = lineAround(text, at)
  if (start === at) return at - 1
  return at - (graphemesOf(text.slice(start, at)).at(-1)?.length ?? 1)
}

/** The nearest place behind `at`; the length of the text at its end. */
const behind = (text: string, at: number): number => {
  if (at >= text.length) return text.length
  const { end } = lineAround(text, at)
  if (end === at) return at + 1
  return at + (graphemesOf(text.slice(at, Math.min(end, at + 64)))[0]?.length ?? 1)
}

const isWord = (character: string | undefined): boolean =>
  character !== undefined && /[\p{L}\p{N}\p{M}_]/u.test(character)

/** The beginning of the word before `at`. */
const wordBefore = (text: string, at: number): number => {
  const characters = [...text.slice(0, at)]
  let place = at
  while (characters.length > 0 && !isWord(characters.at(-1))) place -= characters.pop()?.length ?? 0
  while (isWord(characters.at(-1))) place -= characters.pop()?.length ?? 0
  return place
}

/** The end of the word behind `at`. */
const wordBehind = (text: string, at: number): number => {
  const [skipped = ""] = /^[^\p{L}\p{N}\p{M}_]*[\p{L}\p{N}\p{M}_]*/u.exec(text.slice(at)) ?? []
  return at + skipped.length
}

interface State {
  readonly text: string
  readonly cursor: number
}

/** How many changes can be undone. */
const mostUndone = 200

/** Where a cursor can be moved. */
export type Move = "left" | "right" | "wordLeft" | "wordRight" | "lineStart" | "lineEnd" | "start" | "end"

/** What can be deleted, seen from the cursor. */
export type Deletion = "left" | "right" | "wordLeft" | "wordRight" | "toLineStart" | "toLineEnd"

/** A text with a cursor. */
export class TextBuffer {
  #text = ""
  #cursor = 0
  #undo: Array<State> = []
  #redo: Array<State> = []
  /** Whether the last change was typing: what is typed in a row is undone at once. */
  #isTyping = false
  #killed = ""

  get text(): string {
    return this.#text
  }

  get cursor(): number {
    return this.#cursor
  }

  /** Replaces everything; the cursor goes to the end. */
  set(text: string): void {
    this.#change({ text, cursor: text.length })
  }

  /** Empties it, and forgets what could be undone. */
  reset(text = ""): void {
    this.#text = text
    this.#cursor = text.length
    this.#undo = []
    this.#redo = []
    this.#isTyping = false
  }

  /** Inserts at the cursor. */
  insert(text: string): void {
    if (text === "") return
    const isTyped = text.length <= 2 && text !== "\n"
    this.#change(
      {
        text: this.#text.slice(0, this.#cursor) + text + this.#text.slice(this.#cursor),
        cursor: this.#cursor + text.length
      },
      isTyped && this.#isTyping && text !== " "
    )
    this.#isTyping = isTyped
  }

  /** Replaces what stands between a place and the cursor. */
  replace(from: number, text: string): void {
    const begun = this.#text.slice(0, from) + text
    this.#change({ text: begun + this.#text.slice(this.#cursor), cursor: begun.length })
  }

  /** Moves the cursor. */
  move(to: Move): void {
    this.place(this.#target(to))
  }

  /** Puts the cursor at a place. */
  place(cursor: number): void {
    this.#cursor = Math.max(0, Math.min(this.#text.length, cursor))
    this.#isTyping = false
  }

  /** Deletes; words and lines can be inserted again with `yank`. */
  delete(what: Deletion): void {
    const target = this.#target(what === "toLineStart" ? "lineStart" : what === "toLineEnd" ? "lineEnd" : what)
    // At the end of a line there is its break to delete.
    const other = target === this.#cursor && what === "toLineEnd" ? behind(this.#text, target) : target
    const [from, to] = other < this.#cursor ? [other, this.#cursor] : [this.#cursor, other]
    if (from === to) return
    if (what !== "left" && what !== "right") this.#killed = this.#text.slice(from, to)
    this.#change({ text: this.#text.slice(0, from) + this.#text.slice(to), cursor: from })
  }

  /** Inserts what was deleted last. */
  yank(): void {
    this.insert(this.#killed)
    this.#isTyping = false
  }

  /** Takes the last change back. */
  undo(): void {
    this.#exchange(this.#undo, this.#redo)
  }

  /** Makes a change again that was taken back. */
  redo(): void {
    this.#exchange(this.#redo, this.#undo)
  }

  #exchange(from: Array<State>, to: Array<State>): void {
    const state = from.pop()
    if (state === undefined) return
    to.push({ text: this.#text, cursor: this.#cursor })
    this.#text = state.text
    this.#cursor = state.cursor
    this.#isTyping = false
  }

  #target(to: Move): number {
    const { end, start } = lineAround(this.#text, this.#cursor)
    switch (to) {
      case "left":
        return before(this.#text, this.#cursor)
      case "right":
        return behind(this.#text, this.#cursor)
      case "wordLeft":
        return wordBefore(this.#text, this.#cursor)
      case "wordRight":
        return wordBehind(this.#text, this.#cursor)
      case "lineStart":
        return start
      case "lineEnd":
        return end
      case "start":
        return 0
      case "end":
        return this.#text.length
    }
  }

  #change({ cursor, text }: State, joins = false): void {
    if (!joins) {
      this.#undo.push({ text: this.#text, cursor: this.#cursor })
      if (this.#undo.length > mostUndone) this.#undo.shift()
    }
    this.#redo = []
    this.#text = text
    this.#cursor = cursor
    this.#isTyping = false
  }
}
