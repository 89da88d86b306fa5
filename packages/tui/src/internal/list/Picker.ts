/** Owns a list to choose from: what is typed filters it, arrows select, Enter takes. */
import { escapeLine } from "../../Escape.ts"
import type { Key } from "../../Key.ts"
import type { Style } from "../../Style.ts"
import { fit, widthOf } from "../../Width.ts"
import { wrapRuns } from "../text/runs.ts"
import { fuzzy } from "./fuzzy.ts"

/** Something to choose. */
export interface Item {
  readonly value: string
  readonly label: string
  readonly detail?: string
}

/** What a key has led to. */
export type Picked = { readonly type: "taken"; readonly value: string } | { readonly type: "left" } | undefined

/** A list. */
export class Picker {
  readonly title: string
  readonly #isQuestion: boolean
  readonly #items: ReadonlyArray<Item>
  #pattern = ""
  #found: ReadonlyArray<Item>
  /** -1 where nothing is selected yet. */
  #selected: number

  /** `isQuestion`: nothing is selected at first, and letters do nothing. `now` is the value that holds, selected at first. */
  constructor(title: string, items: ReadonlyArray<Item>, isQuestion = false, now?: string) {
    this.title = title
    this.#isQuestion = isQuestion
    this.#selected = isQuestion ? -1 : Math.max(0, items.findIndex(({ value }) => value === now))
    this.#items = items
    this.#found = items
  }

  /** What there is to choose from now. */
  get items(): ReadonlyArray<Item> {
    return this.#found
  }

  press(key: Key): Picked {
    if (this.#isQuestion && key.type !== "key") {
      const digit = key.type === "text" && /^[1-9]$/.test(key.text) ? Number(key.text) : undefined
      if (digit !== undefined && digit <= this.#found.length) this.#selected = digit - 1
      return undefined
    }
    if (key.type === "text" || key.type === "paste") {
      this.#pattern += key.text.replaceAll(/\s+/g, " ")
      this.#filter()
      return undefined
    }
    if (key.type !== "key") return undefined
    const count = this.#found.length
    switch (key.name) {
      case "escape":
      case "ctrl+c":
        return { type: "left" }
      case "enter": {
        const taken = this.#found[this.#selected]
        return taken === undefined ? undefined : { type: "taken", value: taken.value }
      }
      case "up":
      case "ctrl+p":
        this.#selected = count === 0 ? 0 : (Math.max(0, this.#selected) - 1 + count) % count
        return undefined
      case "down":
      case "ctrl+n":
      case "tab":
        this.#selected = count === 0 ? 0 : (this.#selected + 1) % count
        return undefined
      case "pageUp":
        this.#selected = Math.max(0, this.#selected - 8)
        return undefined
      case "pageDown":
        this.#selected = Math.max(0, Math.min(count - 1, this.#selected + 8))
        return undefined
      case "backspace":
        this.#pattern = [...this.#pattern].slice(0, -1).join("")
        this.#filter()
        return undefined
      case "ctrl+u":
        this.#pattern = ""
        this.#filter()
        return undefined
      default:
        return undefined
    }
  }

  /** The list in at most `rows` lines. */
  lines(columns: number, rows: number, style: Style): ReadonlyArray<string> {
    const paint = (text: string) => style.bold(style.cyan(text))
    const head = this.#isQuestion
      ? wrapRuns([{ text: escapeLine(this.title), paint }], columns - 1)
      : [paint(fit(escapeLine(this.title), columns - 1))]
    const filter = this.#isQuestion ? [] : [fit(`  filter: ${escapeLine(this.#pattern)}▏`, columns - 1)]
    const room = Math.max(1, rows - 2 - head.length)
    const first = Math.max(0, Math.min(this.#selected - Math.floor(room / 2), this.#found.length - room))
    const shown = this.#found.slice(first, first + room).map((item, at) =>
      row(this.#numbered(item, first + at + 1), first + at === this.#selected, columns, style)
    )
    const count = this.#isQuestion
      ? `↑ ↓ or 1-${this.#found.length} selects, Enter confirms`
      : this.#found.length === 0
      ? "No matches. Esc closes."
      : `${this.#selected + 1} of ${this.#found.length} · ↑ ↓ selects, Enter takes, Esc closes`
    return [...head, ...filter, ...shown, style.dim(fit(`  ${count}`, columns - 1))]
  }

  /** The items of a question are chosen by their digits. */
  #numbered(item: Item, number: number): Item {
    return this.#isQuestion ? { ...item, label: `${number} ${item.label}` } : item
  }

  #filter(): void {
    this.#found = fuzzy(this.#pattern, this.#items, ({ detail = "", label }) => `${label} ${detail}`)
    this.#selected = 0
  }
}

/** An item in one line. */
export const row = ({ detail, label }: Item, isSelected: boolean, columns: number, style: Style): string => {
  const mark = isSelected ? "❯ " : "  "
  const name = fit(`${mark}${escapeLine(label)}`, columns - 1)
  const room = columns - 1 - widthOf(name) - 2
  const painted = isSelected ? style.bold(style.cyan(name)) : name
  return detail === undefined || detail === "" || room < 8
    ? painted
    : `${painted}  ${style.dim(fit(escapeLine(detail), room))}`
}
