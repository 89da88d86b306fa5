/** Owns what keys do with an agent that is selected or read: message, stop, to the background, resume. */
import type { SessionID } from "@skein/domain/Id"
import type { AgentTree } from "@skein/view/AgentTree"
import type { Key } from "../../Key.ts"
import type { Request } from "./Request.ts"

/** The keys for an agent of a tree. */
export class TaskKeys {
  readonly #tree: () => AgentTree
  #message: string | undefined

  constructor(tree: () => AgentTree) {
    this.#tree = tree
  }

  /** What is being written to the agent; undefined while nothing is. */
  get line(): string | undefined {
    return this.#message === undefined ? undefined : `message: ${this.#message}▏  Enter sends it, Esc goes back`
  }

  /** What can be done with an agent. */
  hint(id: SessionID): string {
    const node = this.#tree().node(id)
    if (node === undefined || node.parentID === undefined) return "s stop"
    const isOver = node.asks.size === 0 && (node.state.type === "settled" || node.state.type === "interrupted")
    return isOver ? "m message · r resume" : `m message · s stop${node.background ? "" : " · b to the background"}`
  }

  /** What a key does; `kept` where it writes a message, and undefined where it means nothing here. */
  press(key: Key, id: SessionID): Request | "kept" | undefined {
    if (this.#message !== undefined) return this.#write(key, this.#message, id)
    if (key.type !== "text") return undefined
    const node = this.#tree().node(id)
    const isRoot = node === undefined || node.parentID === undefined
    if (key.text === "s") return isRoot ? { type: "stop" } : { type: "stopTask", task: id }
    if (isRoot) return undefined
    if (key.text === "b") return { type: "promote", tasks: [id] }
    if (key.text === "r") return { type: "resumeTask", task: id }
    if (key.text !== "m") return undefined
    this.#message = ""
    return "kept"
  }

  #write(key: Key, message: string, task: SessionID): Request | "kept" {
    if (key.type === "text" || key.type === "paste") this.#message = message + key.text.replaceAll(/\s+/g, " ")
    if (key.type !== "key") return "kept"
    if (key.name === "escape" || key.name === "ctrl+c") this.#message = undefined
    else if (key.name === "backspace") this.#message = [...message].slice(0, -1).join("")
    else if (key.name === "enter") {
      this.#message = undefined
      if (message.trim() !== "") return { type: "messageTask", task, text: message.trim() }
    }
    return "kept"
  }
}
