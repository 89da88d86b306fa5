/** Owns the menu over the input: what it offers, and what its keys put into the input. */
import { mentionOf } from "@skein/domain/Mention"
import type { Key } from "../../Key.ts"
import type { InputLine } from "../editor/InputLine.ts"
import type { Item } from "../list/Picker.ts"
import { builtins } from "./builtins.ts"
import type { Facts } from "./Facts.ts"
import { Menu, typingAt } from "./Menu.ts"

const candidates = (kind: "command" | "name", { agents, commands, files = [] }: Facts): ReadonlyArray<Item> =>
  kind === "command"
    ? [
      ...builtins.map(({ name, summary }) => ({ value: name, label: name, detail: summary })),
      ...commands.map(({ description = "", name }) => ({ value: name, label: name, detail: description }))
    ]
    : [
      ...agents.map(({ description = "", name }) => ({ value: name, label: name, detail: `agent: ${description}` })),
      ...files.map((file) => ({ value: file, label: file }))
    ]

/** What can be completed in an input. */
export class Completion {
  readonly #input: InputLine
  readonly #facts: Facts
  #menu: Menu | undefined
  /** The text for which the menu was closed. */
  #dismissed: string | undefined
  /** Where the word begins for which the names of files were loaded again. */
  #missed: number | undefined

  constructor(input: InputLine, facts: Facts) {
    this.#input = input
    this.#facts = facts
  }

  get menu(): Menu | undefined {
    return this.#menu
  }

  close(): void {
    this.#menu = undefined
  }

  /** Takes a key: `taken` where it was for the menu, `send` where the input is complete with it. */
  press(key: Key): "taken" | "send" | undefined {
    const menu = this.#menu
    if (menu === undefined || key.type !== "key") return undefined
    switch (key.name) {
      case "up":
      case "down":
        menu.move(key.name === "up" ? -1 : 1)
        return "taken"
      case "escape":
        this.#dismissed = this.#input.text
        this.#menu = undefined
        return "taken"
      case "tab":
      case "enter":
        return menu.selected === undefined ? undefined : this.#complete(menu, menu.selected, key.name === "enter")
      default:
        return undefined
    }
  }

  /**
   * Looks at the input again; says whether the names of files have to be loaded: for the first time, or once for a word that
   * none of them matches, because files may have been made meanwhile.
   */
  update(): boolean {
    const { cursor, text } = this.#input
    const typing = text === this.#dismissed ? undefined : typingAt(text, cursor)
    if (text !== this.#dismissed) this.#dismissed = undefined
    const before = this.#menu?.typing
    if (typing === undefined) this.#menu = undefined
    else if (before?.pattern !== typing.pattern || before.kind !== typing.kind) {
      const menu = new Menu(typing, candidates(typing.kind, this.#facts))
      this.#menu = menu.count === 0 ? undefined : menu
    }
    if (typing?.kind !== "name") {
      this.#missed = undefined
      return false
    }
    if (this.#facts.files === undefined) return true
    if (this.#menu !== undefined || this.#missed === typing.from) return false
    this.#missed = typing.from
    return true
  }

  #complete({ typing }: Menu, { value }: Item, isEnter: boolean): "taken" | "send" | undefined {
    if (typing.kind === "name") {
      this.#input.replace(typing.from, `${mentionOf(value) ?? `@${value}`} `)
      return "taken"
    }
    if (isEnter && typing.pattern === value) return undefined
    this.#input.replace(typing.from, `/${value} `)
    const builtin = builtins.find(({ name }) => name === value)
    return isEnter && builtin !== undefined && builtin.takes === undefined ? "send" : "taken"
  }
}
