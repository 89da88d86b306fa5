/** Owns the tree of agents in a full-screen view: which one is selected, and what can be done with it. */
import type { SessionID } from "@skein/domain/Id"
import type { AgentTree } from "@skein/view/AgentTree"
import type { Key } from "../../Key.ts"
import type { Style } from "../../Style.ts"
import { fit } from "../../Width.ts"
import { agentRows } from "../tree/treeLines.ts"
import type { Request } from "./Request.ts"

/** What a key has led to. */
type Done = Request | { readonly type: "left" } | undefined

/** The tree. */
export class TreeView {
  readonly #tree: AgentTree
  #selected: SessionID
  #message: string | undefined

  constructor(tree: AgentTree) {
    this.#tree = tree
    this.#selected = tree.root.id
  }

  press(key: Key): Done {
    if (this.#message !== undefined) return this.#write(key, this.#message)
    if (key.type === "text") return this.#letter(key.text)
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
        return this.#move(-10)
      case "pageDown":
        return this.#move(10)
      case "enter":
        return { type: "transcript", session: this.#selected }
      default:
        return undefined
    }
  }

  /** The whole terminal. */
  draw(columns: number, rows: number, now: number, style: Style): ReadonlyArray<string> {
    const lines = agentRows(this.#tree, { columns: columns - 2, rows, now })
    const room = Math.max(1, rows - 2)
    const at = Math.max(0, lines.findIndex(({ id }) => id === this.#selected))
    const first = Math.max(0, Math.min(at - Math.floor(room / 2), lines.length - room))
    const shown = lines.slice(first, first + room).map(({ id, text, tone }) => {
      const paint = tone === "failed"
        ? style.red
        : tone === "done"
        ? style.dim
        : tone === "waiting"
        ? style.yellow
        : undefined
      if (id === this.#selected) return style.bold(style.cyan(fit(`❯ ${text}`, columns - 1)))
      return paint === undefined ? `  ${text}` : paint(`  ${text}`)
    })
    const hint = this.#message === undefined
      ? "↑ ↓ selects · Enter opens · m message · s stop · b to the background · Esc closes"
      : `message: ${this.#message}▏  Enter sends it, Esc goes back`
    return [
      style.bold(style.cyan(fit(`Agents: ${lines.length}`, columns - 1))),
      ...shown,
      ...Array.from({ length: room - shown.length }, () => ""),
      style.dim(fit(hint, columns - 1))
    ]
  }

  #move(step: number): undefined {
    const ids = agentRows(this.#tree, { columns: 80, rows: 1, now: 0 }).map(({ id }) => id)
    const at = ids.indexOf(this.#selected)
    this.#selected = ids[Math.max(0, Math.min(ids.length - 1, at + step))] ?? this.#selected
  }

  #letter(letter: string): Done {
    const isRoot = this.#selected === this.#tree.root.id
    if (letter === "q") return { type: "left" }
    if (letter === "s") return isRoot ? { type: "stop" } : { type: "stopTask", task: this.#selected }
    if (letter === "b" && !isRoot) return { type: "promote", tasks: [this.#selected] }
    if (letter === "m" && !isRoot) this.#message = ""
    return undefined
  }

  #write(key: Key, message: string): Done {
    if (key.type === "text" || key.type === "paste") this.#message = message + key.text.replaceAll(/\s+/g, " ")
    if (key.type !== "key") return undefined
    if (key.name === "escape") this.#message = undefined
    else if (key.name === "backspace") this.#message = [...message].slice(0, -1).join("")
    else if (key.name === "enter") {
      this.#message = undefined
      return message.trim() === "" ? undefined : { type: "messageTask", task: this.#selected, text: message.trim() }
    }
    return undefined
  }
}
