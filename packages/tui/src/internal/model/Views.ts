/** Owns what takes the keys from the input: the tree, a transcript or a text in the whole terminal, and a list to choose from. */
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { MessageWithParts } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { AgentTree } from "@skein/view/AgentTree"
import { escapeLine } from "../../Escape.ts"
import type { Key } from "../../Key.ts"
import type { Style } from "../../Style.ts"
import { fit } from "../../Width.ts"
import { eventsOf, Transcript } from "../calls/transcript.ts"
import { Pager } from "../list/Pager.ts"
import { type Item, Picker } from "../list/Picker.ts"
import { agentLine, agentsIn, type TreeLine } from "../tree/treeLines.ts"
import { TaskKeys } from "./keys.ts"
import type { Request } from "./Request.ts"

/** The most rows of a line that grows. */
const growing = 40

/** A transcript that is open. */
export class Reading {
  readonly session: SessionInfo
  readonly pager: Pager
  readonly #keys: TaskKeys
  readonly #transcript: Transcript
  readonly #lines: Array<string> = []
  /** What came before what was said was known; undefined from then on. */
  #held: Array<Event> | undefined = []

  constructor(session: SessionInfo, keys: TaskKeys, style: Style, columns: () => number) {
    this.session = session
    this.#keys = keys
    this.#transcript = new Transcript(session.id, style, columns, { showsPrompts: true, isWhole: true })
    const title = `${escapeLine(session.agent)}: ${escapeLine(session.title)}`
    this.pager = new Pager(title, this.#lines, true, () => keys.line ?? keys.hint(session.id))
  }

  /** Takes in what was said before, a page at a time. */
  recall(messages: ReadonlyArray<MessageWithParts>): void {
    for (const message of messages) for (const event of eventsOf(message, this.session)) this.#transcript.see(event)
  }

  /** Takes in what has happened meanwhile, and shows all of it. */
  follow(): void {
    for (const event of this.#held ?? []) this.#transcript.see(event)
    this.#held = undefined
    this.#show()
  }

  /** Takes an event in; says whether there is anything new. */
  see(event: Event): boolean {
    if (event.sessionID !== this.session.id) return false
    if (this.#held !== undefined) {
      // Pieces of text are part of what was stored, or of what is published next.
      if (event.type !== "message.part.delta") this.#held.push(event)
      return false
    }
    if (!this.#transcript.see(event)) return false
    this.#show()
    return true
  }

  /** What a key does besides scrolling. */
  press(key: Key): Request | "kept" | undefined {
    return this.#keys.press(key, this.session.id)
  }

  #show(): void {
    this.#lines.push(...this.#transcript.take())
    this.pager.follow([...this.#transcript.growing(growing), ...this.#transcript.tail])
  }
}

/** What a key has led to. */
type Done = Request | { readonly type: "left" } | undefined

/** The tree. */
export class TreeView {
  readonly #tree: AgentTree
  readonly #keys: TaskKeys
  #selected: SessionID
  /** Whether also those are listed that have ended, where not all fit. */
  #showsAll = false
  #room = 20

  constructor(tree: AgentTree) {
    this.#tree = tree
    this.#keys = new TaskKeys(() => tree)
    this.#selected = tree.root.id
  }

  press(key: Key): Done {
    const done = this.#keys.press(key, this.#selected)
    if (done !== undefined) return done === "kept" ? undefined : done
    if (key.type === "text" && key.text === "q") return { type: "left" }
    if (key.type === "text" && key.text === "a") this.#showsAll = !this.#showsAll
    if (key.type !== "key") return undefined
    switch (key.name) {
      case "escape":
      case "ctrl+t":
      case "ctrl+c":
        return { type: "left" }
      case "up":
        return this.#move(-1)
      case "down":
        return this.#move(1)
      case "pageUp":
        return this.#move(-this.#room)
      case "pageDown":
        return this.#move(this.#room)
      case "enter":
        return { type: "transcript", session: this.#selected }
      default:
        return undefined
    }
  }

  /** The whole terminal: those at work first, and the others counted, where not all fit. */
  draw(columns: number, rows: number, now: number, style: Style): ReadonlyArray<string> {
    this.#room = Math.max(1, rows - 2)
    const { agents, rest } = this.#listed
    const room = this.#room - (rest === undefined ? 0 : 1)
    const at = Math.max(0, agents.findIndex(({ node }) => node.id === this.#selected))
    const first = Math.max(0, Math.min(at - Math.floor(room / 2), agents.length - room))
    const paint = ({ text, tone }: TreeLine): string => {
      const { dim, red, yellow } = style
      const colour = { failed: red, done: dim, waiting: yellow, active: undefined }[tone]
      return colour === undefined ? `  ${text}` : colour(`  ${text}`)
    }
    const frame = { columns: columns - 2, rows, now }
    const shown = agents.slice(first, first + room).map(({ branch, node }) => {
      const line = agentLine(node, branch, this.#tree.places.get(node.id), frame)
      return node.id === this.#selected ? style.bold(style.cyan(fit(`❯ ${line.text}`, columns - 1))) : paint(line)
    })
    const hidden = rest === undefined ? [] : [paint(rest(frame))]
    const all = this.#showsAll ? " · a fewer" : rest === undefined ? "" : " · a all"
    const hint = this.#keys.line ??
      `↑ ↓ selects · Enter opens · ${this.#keys.hint(this.#selected)}${all} · Esc closes`
    return [
      style.bold(style.cyan(fit(`Agents: ${this.#tree.all.length}`, columns - 1))),
      ...shown,
      ...hidden,
      ...Array.from({ length: this.#room - shown.length - hidden.length }, () => ""),
      style.dim(fit(hint, columns - 1))
    ]
  }

  /** The agents that get a line; who is selected does. */
  get #listed() {
    return agentsIn(this.#tree, this.#showsAll ? Number.POSITIVE_INFINITY : this.#room, this.#selected)
  }

  #move(step: number): undefined {
    const ids = this.#listed.agents.map(({ node }) => node.id)
    const at = ids.indexOf(this.#selected)
    this.#selected = ids[Math.max(0, Math.min(ids.length - 1, at + step))] ?? this.#selected
  }
}

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
