/** Owns the tree of agents in a full-screen view: which one is selected, and what can be done with it. */
import type { SessionID } from "@skein/domain/Id"
import type { AgentTree } from "@skein/view/AgentTree"
import type { Key } from "../../Key.ts"
import type { Style } from "../../Style.ts"
import { fit } from "../../Width.ts"
import { agentLine, type TreeLine } from "../tree/treeLine.ts"
import { agentsIn } from "../tree/treeLines.ts"
import { TaskKeys } from "./keys.ts"
import type { Request } from "./Request.ts"

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
