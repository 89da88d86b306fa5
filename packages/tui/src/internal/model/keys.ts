/** Decides what keys mean before the input gets them: a paste, an answer to a question, or something to do with a task. */
import type { SessionID } from "@skein/domain/Id"
import type { AgentTree } from "@skein/view/AgentTree"
import { isKey, type Key, type KeyName } from "../../Key.ts"
import type { DialogQueue } from "../ask/dialogQueue.ts"
import type { InputLine } from "../editor/InputLine.ts"
import type { Request } from "./Request.ts"

/** The most characters that somebody types within one read. */
const mostTyped = 8

/** A line break in the middle of much text was pasted, in a terminal that does not mark it: it sends nothing. */
export const joinKeys = (keys: ReadonlyArray<Key>): ReadonlyArray<Key> => {
  const typed = keys.filter(({ type }) => type === "text").length
  const isPasted = typed > mostTyped &&
    keys.slice(0, -1).some((key) => isKey(key, "enter")) &&
    keys.every((key) => key.type === "text" || isKey(key, "enter") || isKey(key, "tab"))
  if (isPasted) {
    const text = keys.map((key) => key.type === "text" ? key.text : isKey(key, "tab") ? "\t" : "\n").join("")
    return [{ type: "paste", text }]
  }
  const found: Array<Key> = []
  for (const key of keys) {
    const last = found.at(-1)
    if (key.type === "text" && last?.type === "text") {
      found[found.length - 1] = { type: "text", text: last.text + key.text }
    } else found.push(key)
  }
  return found
}

/** The keys that a question takes, and that do nothing to the input while one waits. */
const own: ReadonlySet<KeyName> = new Set(["up", "down", "left", "right", "pageUp", "pageDown", "enter", "escape"])

/** Who gets the keys while a question waits. */
export class QuestionKeys {
  readonly #input: InputLine
  /** Tab gave the keys to the question, although the input holds text. */
  #isGiven = false

  constructor(input: InputLine) {
    this.#input = input
  }

  /** Whether a question gets no keys, since the input holds text. */
  get isHeld(): boolean {
    return !this.#input.isEmpty && !this.#isGiven
  }

  /** Takes the keys of one read; false where they are for the input. */
  press(keys: ReadonlyArray<Key>, dialogs: DialogQueue, steady: number): boolean {
    const [first] = keys
    if (first === undefined) return false
    if (!this.#input.isEmpty && !dialogs.isWriting && keys.length === 1 && isKey(first, "tab")) {
      this.#isGiven = !this.#isGiven
      return true
    }
    if (this.#input.isEmpty) this.#isGiven = false
    const isOpen = dialogs.isWriting || !this.isHeld
    // Where nothing is selected, Esc interrupts the turn.
    if (isOpen && isKey(first, "escape") && !dialogs.isWriting && !dialogs.isSelected) return false
    const typed = keys.filter(({ type }) => type !== "focus")
    if (isOpen && typed.length > 0 && !typed.some((key) => isKey(key, "ctrl+c")) && dialogs.press(typed, steady)) {
      return true
    }
    const stays = typed.some((key) => key.type === "text" || key.type === "paste")
    if (!isOpen || stays) {
      dialogs.typed(steady)
      this.#isGiven = false
      return false
    }
    // Arrows do not go through the history of the input while a question waits.
    return typed.length > 0 && typed.every((key) => key.type === "key" && own.has(key.name))
  }
}

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
