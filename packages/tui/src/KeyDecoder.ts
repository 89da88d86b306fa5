/** Turns the bytes of a keyboard into keys: sequences and characters that come in several reads, and pasted text as one. */
import { StringDecoder } from "node:string_decoder"
import { keyOf } from "./internal/terminal/sequences.ts"
import type { Key, KeyName } from "./Key.ts"

const escape = "\x1b"
const pasteBegins = "\x1b[200~"
const pasteEnds = "\x1b[201~"

/** The most that is kept of pasted text, of a key's sequence, and of a terminal's reply, in characters. */
const longest = { paste: 8_000_000, sequence: 64, reply: 4_096 }

const controls: Readonly<Record<string, KeyName>> = {
  "\r": "enter",
  "\n": "ctrl+j",
  "\t": "tab",
  "\x7f": "backspace",
  "\b": "backspace",
  "\0": "ctrl+space"
}

const key = (name: KeyName): Key => ({ type: "key", name })

const controlOf = (character: string): Key => {
  const named = controls[character]
  if (named !== undefined) return key(named)
  const letter = String.fromCharCode(character.charCodeAt(0) + 96)
  return /^[a-z]$/.test(letter) ? key(`ctrl+${letter}` as KeyName) : key("other")
}

/**
 * The beginning of a sequence after ESC: CSI with parameters, SS3, a string that ends with BEL or ESC \, or Alt with
 * a character.
 */
// oxlint-disable-next-line no-control-regex -- replies of a terminal end with ESC \ or BEL
const whole = /^(?:\[[0-?]*[ -/]*[@-~]|O[^]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[P_^X][^\x07\x1b]+\x1b\\|[^[\]OP_^X])/u

/** The beginning of a string that a terminal sends, such as a colour; it may be longer than a key. */
const stringBegins = /^[\]P_^X]/

/** What the keyboard has sent so far. */
export class KeyDecoder {
  readonly #characters = new StringDecoder("utf8")
  #rest = ""
  #pasted: Array<string> | undefined
  #pastedLength = 0

  /** Whether a key has begun that may have more to come: `flush` ends it. */
  get isPending(): boolean {
    return this.#rest !== "" && this.#pasted === undefined
  }

  /** The keys that are complete with this read. */
  decode(read: Uint8Array): ReadonlyArray<Key> {
    const text = this.#characters.write(Buffer.from(read))
    // On its own it always counts: a paste whose end never comes must not swallow it.
    if (text === "\x03") return [...this.flush(), key("ctrl+c")]
    this.#rest += text
    return this.#take()
  }

  /** Ends the key that has begun: an ESC with nothing behind it is the Escape key. */
  flush(): ReadonlyArray<Key> {
    const rest = this.#rest
    const wasPasting = this.#pasted !== undefined
    this.#rest = ""
    this.#pasted = undefined
    if (rest === escape) return [key("escape")]
    return rest === "" && !wasPasting ? [] : [key("other")]
  }

  #take(): ReadonlyArray<Key> {
    const keys: Array<Key> = []
    while (this.#rest !== "") {
      if (this.#pasted !== undefined) {
        if (!this.#paste(this.#pasted, keys)) return keys
      } else if (this.#rest.startsWith(escape)) {
        if (!this.#sequence(keys)) return keys
      } else {
        const [character = ""] = this.#rest
        this.#rest = this.#rest.slice(character.length)
        keys.push(character < " " || character === "\x7f" ? controlOf(character) : { type: "text", text: character })
      }
    }
    return keys
  }

  /** Takes more of what is pasted; false where its end has not come. */
  #paste(pasted: Array<string>, keys: Array<Key>): boolean {
    const end = this.#rest.indexOf(pasteEnds)
    // The end may have begun in this read.
    const taken = end < 0 ? Math.max(0, this.#rest.length - pasteEnds.length + 1) : end
    const room = longest.paste - this.#pastedLength
    pasted.push(this.#rest.slice(0, Math.min(taken, room)))
    this.#pastedLength += Math.min(taken, room)
    this.#rest = this.#rest.slice(end < 0 ? taken : end + pasteEnds.length)
    if (end < 0) return false
    keys.push({ type: "paste", text: pasted.join("") })
    this.#pasted = undefined
    return true
  }

  /** Takes a sequence; false where its end has not come. */
  #sequence(keys: Array<Key>): boolean {
    if (this.#rest.startsWith(pasteBegins)) {
      this.#pasted = []
      this.#pastedLength = 0
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
      if (behind.length <= (stringBegins.test(behind) ? longest.reply : longest.sequence)) return false
      keys.push(key("other"))
      this.#rest = ""
      return true
    }
    const found = keyOf(sequence)
    if (found !== undefined) keys.push(found)
    this.#rest = behind.slice(sequence.length)
    return true
  }
}
