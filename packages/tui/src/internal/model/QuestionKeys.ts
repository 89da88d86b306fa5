/** Decides whether keys are for the question that waits, or for the input: what is typed when a question appears stays in the input. */
import { isKey, type Key, type KeyName } from "../../Key.ts"
import type { DialogQueue } from "../ask/dialogQueue.ts"
import type { InputLine } from "../editor/InputLine.ts"

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
