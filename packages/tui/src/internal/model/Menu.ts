/** Finds what can stand in the place of what is being typed: commands behind `/`, files and agents behind `@`. */
import type { Style } from "../../Style.ts"
import { fit } from "../../Width.ts"
import { fuzzy } from "../list/fuzzy.ts"
import { type Item, row } from "../list/Picker.ts"

/** What is being typed. */
export interface Typing {
  readonly kind: "command" | "name"
  /** Where it begins in the input, its mark included. */
  readonly from: number
  readonly pattern: string
}

/** How many are shown at once. */
const most = 8

/** What is being typed at the cursor; undefined where nothing can be completed. */
export const typingAt = (text: string, cursor: number): Typing | undefined => {
  const before = text.slice(0, cursor)
  const command = /^\/([^\s/]*)$/.exec(before)
  if (command !== null) return { kind: "command", from: 0, pattern: command[1] ?? "" }
  const name = /(?:^|\s)@([^\s@]*)$/.exec(before)
  return name === null ? undefined : { kind: "name", from: cursor - (name[1] ?? "").length - 1, pattern: name[1] ?? "" }
}

/** The menu that is open over the input. */
export class Menu {
  readonly typing: Typing
  readonly #items: ReadonlyArray<Item>
  #selected = 0

  constructor(typing: Typing, candidates: ReadonlyArray<Item>) {
    this.typing = typing
    this.#items = fuzzy(typing.pattern, candidates, ({ label }) => label)
  }

  /** How many match. */
  get count(): number {
    return this.#items.length
  }

  get selected(): Item | undefined {
    return this.#items[this.#selected]
  }

  move(step: number): void {
    const count = this.#items.length
    if (count > 0) this.#selected = (this.#selected + step + count) % count
  }

  lines(columns: number, rows: number, style: Style): ReadonlyArray<string> {
    const room = Math.max(1, Math.min(most, rows))
    const first = Math.max(0, Math.min(this.#selected - Math.floor(room / 2), this.#items.length - room))
    const shown = this.#items.slice(first, first + room)
    return [
      ...shown.map((item, at) => row(item, first + at === this.#selected, columns, style)),
      ...(shown.length === this.#items.length
        ? []
        : [style.dim(fit(`  ${this.#selected + 1} of ${this.#items.length}`, columns - 1))])
    ]
  }
}
