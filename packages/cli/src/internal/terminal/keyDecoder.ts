/** Turns the bytes of a keyboard into keys: sequences and characters that come in several reads, and pasted text as one. */
import { StringDecoder } from "node:string_decoder"

/** A key that is no character. */
type KeyName =
  | "up"
  | "down"
  | "left"
  | "right"
  | "pageUp"
  | "pageDown"
  | "enter"
  | "escape"
  | "backspace"
  | "ctrl+b"
  | "ctrl+c"
  | "ctrl+u"
  | "ctrl+z"
  | "other"

/** What was typed. */
export type Key =
  | { readonly type: "key"; readonly name: KeyName }
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "paste"; readonly text: string }

const escape = "\x1b"
const pasteBegins = "\x1b[200~"
const pasteEnds = "\x1b[201~"

/** The most that is kept of what was pasted, and of a sequence whose end has not come, in characters. */
const longest = { paste: 100_000, sequence: 64 }

const controls: Readonly<Record<string, KeyName>> = {
  "\r": "enter",
  "\n": "enter",
  "\x7f": "backspace",
  "\b": "backspace",
  "\x02": "ctrl+b",
  "\x03": "ctrl+c",
  "\x15": "ctrl+u",
  "\x1a": "ctrl+z"
}

const sequences: Readonly<Record<string, KeyName>> = {
  "[A": "up",
  "[B": "down",
  "[C": "right",
  "[D": "left",
  OA: "up",
  OB: "down",
  OC: "right",
  OD: "left",
  OM: "enter",
  "[5~": "pageUp",
  "[6~": "pageDown"
}

const key = (name: KeyName): Key => ({ type: "key", name })

/** A sequence behind ESC as far as it has come: CSI with parameters, SS3, or Alt with a character. */
const whole = /^(?:\[[0-?]*[ -/]*[@-~]|O[^]|[^[O])/u

/** What the keyboard has said so far. */
export class KeyDecoder {
  readonly #characters = new StringDecoder("utf8")
  #rest = ""
  #pasted: string | undefined

  /** Whether a key has begun that may have more to come: `flush` ends it. */
  get isPending(): boolean {
    return this.#rest !== "" && this.#pasted === undefined
  }

  /** The keys that are complete with this read. */
  decode(read: Uint8Array): ReadonlyArray<Key> {
    const text = this.#characters.write(Buffer.from(read))
    // By itself it always counts: a paste whose end never comes must not take it away.
    if (text === "\x03") return [...this.flush(), key("ctrl+c")]
    this.#rest += text
    return this.#take()
  }

  /** Ends the key that has begun: an ESC with nothing behind it is the Escape key. */
  flush(): ReadonlyArray<Key> {
    const rest = this.#rest
    this.#rest = ""
    this.#pasted = undefined
    return rest === escape ? [key("escape")] : rest === "" ? [] : [key("other")]
  }

  #take(): ReadonlyArray<Key> {
    const keys: Array<Key> = []
    while (this.#rest !== "") {
      if (this.#pasted !== undefined) {
        const end = this.#rest.indexOf(pasteEnds)
        // The end may have begun in this read.
        const taken = end < 0 ? Math.max(0, this.#rest.length - pasteEnds.length + 1) : end
        this.#pasted = (this.#pasted + this.#rest.slice(0, taken)).slice(0, longest.paste)
        this.#rest = this.#rest.slice(end < 0 ? taken : end + pasteEnds.length)
        if (end < 0) return keys
        keys.push({ type: "paste", text: this.#pasted })
        this.#pasted = undefined
      } else if (this.#rest.startsWith(escape)) {
        if (!this.#sequence(keys)) return keys
      } else {
        const [character = ""] = this.#rest
        this.#rest = this.#rest.slice(character.length)
        const name = controls[character]
        if (name !== undefined) keys.push(key(name))
        else keys.push(character < " " ? key("other") : { type: "text", text: character })
      }
    }
    return keys
  }

  /** Takes a sequence; false where its end has not come. */
  #sequence(keys: Array<Key>): boolean {
    if (this.#rest.startsWith(pasteBegins)) {
      this.#pasted = ""
      this.#rest = this.#rest.slice(pasteBegins.length)
      return true
    }
    const behind = this.#rest.slice(1)
    if (behind.startsWith(escape)) {
      keys.push(key("escape"))
      this.#rest = behind
      return true
    }
    const [sequence] = whole.exec(behind) ?? []
    if (sequence === undefined) {
      if (behind.length <= longest.sequence) return false
      keys.push(key("other"))
      this.#rest = ""
      return true
    }
    keys.push(key(sequences[sequence] ?? "other"))
    this.#rest = behind.slice(sequence.length)
    return true
  }
}
