/** Owns what takes the keys from the input: the tree, a transcript or a text in the whole terminal, and a list to choose from. */
import type { Event } from "@skein/domain/Event"
import type { AgentTree } from "@skein/view/AgentTree"
import type { Key } from "../../Key.ts"
import { Pager } from "../list/Pager.ts"
import { type Item, Picker } from "../list/Picker.ts"
import type { Reading } from "./Reading.ts"
import type { Request } from "./Request.ts"
import { TreeView } from "./TreeView.ts"

/** A question of the program itself, or a list to choose from. */
interface Choosing {
  readonly picker: Picker
  readonly taken: (value: string) => void
  /** Whether it asks what to do with work that still runs: it needs no answer once that has ended. */
  readonly isAboutWork?: boolean
}

/** What is open. A text hides a list, and both hide the tree. */
export class Views {
  readonly #request: (request: Request) => void
  #choosing: Choosing | undefined
  #pager: Pager | undefined
  #tree: TreeView | undefined
  /** The transcript that fills the terminal. */
  #reading: Reading | undefined

  constructor(request: (request: Request) => void) {
    this.#request = request
  }

  get choosing(): Picker | undefined {
    return this.#choosing?.picker
  }

  get pager(): Pager | undefined {
    return this.#pager
  }

  get tree(): TreeView | undefined {
    return this.#tree
  }

  /** Whether something takes the keys. */
  get isOpen(): boolean {
    return this.#tree !== undefined || this.#pager !== undefined || this.#choosing !== undefined
  }

  /** Lets the person choose; `taken` gets the value. `now` is the value that holds: it is selected at first. */
  choose(title: string, items: ReadonlyArray<Item>, taken: (value: string) => void, now?: string): void {
    this.#choosing = { picker: new Picker(title, items, false, now), taken }
  }

  /** Asks a question of the program's own: nothing is selected at first. */
  confirm(title: string, items: ReadonlyArray<Item>, taken: (value: string) => void): void {
    this.#choosing = { picker: new Picker(title, items, true), taken }
  }

  /** The same, before the person leaves while work continues. */
  confirmLeaving(title: string, items: ReadonlyArray<Item>, taken: (value: string) => void): void {
    this.#choosing = { picker: new Picker(title, items, true), taken, isAboutWork: true }
  }

  /** Answers the list that is open; undefined closes it. */
  pick(value: string | undefined): void {
    const choosing = this.#choosing
    this.#choosing = undefined
    if (value !== undefined) choosing?.taken(value)
  }

  /** Fills the terminal with a text. */
  page(pager: Pager): void {
    this.#pager = pager
  }

  /** A transcript that is about to fill the terminal follows the events from now on. */
  follow(reading: Reading): void {
    this.#reading = reading
  }

  /** Fills the terminal with the tree of agents. */
  openTree(tree: AgentTree): void {
    this.#tree = new TreeView(tree)
  }

  /** The tree that is open is about another state of the agents. */
  renewTree(tree: AgentTree): void {
    if (this.#tree !== undefined) this.#tree = new TreeView(tree)
  }

  closeTree(): void {
    this.#tree = undefined
  }

  /** Closes what fills the terminal. */
  close(): void {
    this.#tree = undefined
    this.#pager = undefined
    this.#reading = undefined
  }

  /** Takes an event in; says whether what is open may have changed. */
  see(event: Event): boolean {
    return (this.#reading?.see(event) ?? false) || this.#tree !== undefined
  }

  /** Work has ended: what was asked about it needs no answer any more. */
  rested(): void {
    if (this.#choosing?.isAboutWork !== true) return
    this.#choosing = undefined
    this.#request({ type: "quit" })
  }

  /** Takes a key; says whether anything is open that has it. */
  press(key: Key): boolean {
    if (this.#pager !== undefined) this.#pressPager(key, this.#pager)
    else if (this.#choosing !== undefined) this.#pressPicker(key, this.#choosing)
    else if (this.#tree !== undefined) this.#pressTree(key, this.#tree)
    else return false
    return true
  }

  #pressPager(key: Key, pager: Pager): void {
    const done = this.#reading?.pager === pager ? this.#reading.press(key) : undefined
    if (done === "kept") return
    if (done !== undefined) return this.#request(done)
    if (pager.press(key) !== "left") return
    this.#pager = undefined
    this.#reading = undefined
  }

  #pressPicker(key: Key, { picker, taken }: Choosing): void {
    const picked = picker.press(key)
    if (picked === undefined) return
    this.#choosing = undefined
    if (picked.type === "taken") taken(picked.value)
  }

  #pressTree(key: Key, tree: TreeView): void {
    const done = tree.press(key)
    if (done === undefined) return
    if (done.type === "left") this.#tree = undefined
    else this.#request(done)
  }
}
