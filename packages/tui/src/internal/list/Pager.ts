/** Owns a text that fills the terminal: it scrolls, and follows its end while that is in sight. */
import type { Key } from "../../Key.ts"
import type { Style } from "../../Style.ts"
import { fit } from "../../Width.ts"

/** A text in a full-screen view. */
export class Pager {
  readonly title: string
  readonly #hint: () => string
  readonly #lines: ReadonlyArray<string>
  /** What stands behind the lines for now. */
  #growing: ReadonlyArray<string> = []
  #first: number | undefined
  #height = 1

  /** `fromEnd`: the end is shown at first, and followed. `hint` says what more keys do. The lines must be escaped, and may have colours. */
  constructor(title: string, lines: ReadonlyArray<string>, fromEnd = false, hint = () => "") {
    this.title = title
    this.#hint = hint
    this.#lines = lines
    this.#first = fromEnd ? undefined : 0
  }

  get lines(): ReadonlyArray<string> {
    return this.#lines
  }

  /** Lines may have been added; until they are read, these come after them. */
  follow(growing: ReadonlyArray<string>): void {
    this.#growing = growing
  }

  /** Takes a key; `left` where it closes the view. */
  press(key: Key): "left" | undefined {
    if (key.type === "text") {
      if (key.text === "q") return "left"
      if (key.text === "g") this.#go(0)
      if (key.text === "G") this.#first = undefined
      if (key.text === " ") this.#go(this.#top + this.#height)
      return undefined
    }
    if (key.type !== "key") return undefined
    switch (key.name) {
      case "escape":
      case "ctrl+c":
      case "ctrl+o":
        return "left"
      case "up":
        this.#go(this.#top - 1)
        return undefined
      case "down":
        this.#go(this.#top + 1)
        return undefined
      case "pageUp":
        this.#go(this.#top - this.#height)
        return undefined
      case "pageDown":
        this.#go(this.#top + this.#height)
        return undefined
      case "home":
        this.#go(0)
        return undefined
      case "end":
        this.#first = undefined
        return undefined
      default:
        return undefined
    }
  }

  /** The whole terminal. */
  draw(columns: number, rows: number, style: Style): ReadonlyArray<string> {
    this.#height = Math.max(1, rows - 2)
    const [top, count] = [this.#top, this.#lines.length]
    const shown = [
      ...this.#lines.slice(top, top + this.#height),
      ...this.#growing.slice(Math.max(0, top - count), Math.max(0, top + this.#height - count))
    ]
    const hint = this.#hint()
    const place = [
      `${top + shown.length} of ${this.#count}`,
      ...(hint === "" ? [] : [hint]),
      "↑ ↓ PgUp PgDn scroll, Esc closes"
    ].join(" · ")
    return [
      style.bold(style.cyan(fit(this.title, columns - 1))),
      ...shown,
      ...Array.from({ length: this.#height - shown.length }, () => ""),
      style.dim(fit(place, columns - 1))
    ]
  }

  get #count(): number {
    return this.#lines.length + this.#growing.length
  }

  get #top(): number {
    const end = Math.max(0, this.#count - this.#height)
    return this.#first === undefined ? end : Math.max(0, Math.min(this.#first, end))
  }

  #go(first: number): void {
    const end = Math.max(0, this.#count - this.#height)
    this.#first = first >= end && this.#count > this.#height ? undefined : Math.max(0, first)
  }
}
