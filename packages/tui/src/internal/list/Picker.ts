/**
 * Owns a list to choose from: what is typed filters it, arrows select, Enter takes. A few letters in order find an
 * entry.
 */
import { escapeLine } from "../../Escape.ts"
import type { Key } from "../../Key.ts"
import type { Style } from "../../Style.ts"
import { fit, widthOf } from "../../Width.ts"
import { wrapRuns } from "../text/runs.ts"

/** How well a text matches; undefined where it does not. */
const score = (pattern: string, text: string): number | undefined => {
  const lower = text.toLowerCase()
  const whole = lower.indexOf(pattern)
  if (whole >= 0) {
    const isStart = whole === 0 || /[^a-z0-9]/.test(lower[whole - 1] ?? "")
    return 1_000 + (isStart ? 200 : 0) - whole - text.length / 100
  }
  let at = -1
  let points = 0
  for (const character of pattern) {
    const next = lower.indexOf(character, at + 1)
    if (next < 0) return undefined
    if (next === at + 1) points += 5
    else if (/[^a-z0-9]/.test(lower[next - 1] ?? " ")) points += 3
    at = next
  }
  return points - text.length / 100
}

/** The items that match, the best first; all of them in their order for an empty pattern. */
export const fuzzy = <A>(
  pattern: string,
  items: ReadonlyArray<A>,
  textOf: (item: A) => string
): ReadonlyArray<A> => {
  const wanted = pattern.toLowerCase().replaceAll(" ", "")
  if (wanted === "") return items
  return items
    .flatMap((item, at) => {
      const points = score(wanted, textOf(item))
      return points === undefined ? [] : [{ item, points, at }]
    })
    .toSorted((a, b) => b.points - a.points || a.at - b.at)
    .map(({ item }) => item)
}

/** How many letters differ. */
const distance = (a: string, b: string): number => {
  let before = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      row.push(Math.min((before[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (before[j - 1] ?? 0) + same))
    }
    before = row
  }
  return before[b.length] ?? 0
}

/** The name that is meant by one with at most two wrong letters; undefined where none is. */
export const nearest = (name: string, names: ReadonlyArray<string>): string | undefined =>
  names
    .map((each) => ({ each, far: each.startsWith(name) ? 1 : distance(name.slice(0, 40), each) }))
    .filter(({ far }) => far <= 2)
    .toSorted((a, b) => a.far - b.far)[0]?.each

/** The names that are most like one, at most three: at least two thirds of it are as in them. */
export const nearestNames = (name: string, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names
    .map((each) => ({ each, far: distance(name.slice(0, 80), each) }))
    .filter(({ far }) => far <= name.length / 3)
    .toSorted((a, b) => a.far - b.far)
    .slice(0, 3)
    .map(({ each }) => each)

/** Something to choose. */
export interface Item {
  readonly value: string
  readonly label: string
  readonly detail?: string
}

/** What a key has led to. */
type Picked = { readonly type: "taken"; readonly value: string } | { readonly type: "left" } | undefined

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
