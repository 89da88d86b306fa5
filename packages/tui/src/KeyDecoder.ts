/**
 * Turns the bytes of a keyboard into keys: sequences, legacy, of xterm or of the kitty protocol, characters that come in
 * several reads, and pasted text as one.
 */
import { StringDecoder } from "node:string_decoder"
import type { BaseKey, Key, KeyName, Rgb } from "./Key.ts"

const key = (name: KeyName): Key => ({ type: "key", name })

const other = key("other")

/** Final characters of CSI and SS3 sequences. */
const finals: Readonly<Record<string, BaseKey>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  H: "home",
  F: "end",
  M: "enter"
}

/** The first parameter of `CSI n ~`. */
const numbers: Readonly<Record<string, BaseKey>> = {
  1: "home",
  3: "delete",
  4: "end",
  5: "pageUp",
  6: "pageDown",
  7: "home",
  8: "end"
}

/** Code points that the kitty protocol and xterm use for keys without text; those from 57414 on are on the keypad. */
const codes: Readonly<Record<number, BaseKey>> = {
  9: "tab",
  13: "enter",
  27: "escape",
  32: "space",
  127: "backspace",
  57_414: "enter",
  57_417: "left",
  57_418: "right",
  57_419: "up",
  57_420: "down",
  57_421: "pageUp",
  57_422: "pageDown",
  57_423: "home",
  57_424: "end",
  57_426: "delete"
}

/** Adds modifiers, given as terminals send them: 1 plus a bit for each of shift, alt and ctrl. */
const modified = (base: string, modifiers: number): KeyName => {
  const bits = Math.max(0, modifiers - 1)
  const ctrl = (bits & 4) === 0 ? "" : "ctrl+"
  const alt = (bits & 2) === 0 ? "" : "alt+"
  const shift = (bits & 1) === 0 ? "" : "shift+"
  // The names of letters and keys are all in `KeyName`.
  return `${ctrl}${alt}${shift}${base}` as KeyName
}

/** A key by its code point. With shift alone a character is text, as it is without a protocol. */
const ofCode = (code: number, modifiers: number): Key => {
  const base = codes[code]
  if (base === "space" && modifiers <= 2) return { type: "text", text: " " }
  if (base !== undefined) return key(modified(base, modifiers))
  if (code < 32 || (code >= 0xe000 && code <= 0xf8ff) || code > 0x10ffff) return other
  const character = String.fromCodePoint(code)
  if (modifiers <= 2) return { type: "text", text: modifiers === 2 ? character.toUpperCase() : character }
  return /^[a-z]$/i.test(character) ? key(modified(character.toLowerCase(), modifiers)) : other
}

const ofCsi = (parameters: string, final: string): Key | undefined => {
  // A subparameter behind `:` says what the key is elsewhere, or whether it was released.
  const [first = "", second = "", third = ""] = parameters.split(";").map((each) => each.split(":", 1)[0] ?? "")
  const modifiers = Number(second) || 1
  if (parameters === "" && final === "I") return { type: "focus", isFocused: true }
  if (parameters === "" && final === "O") return { type: "focus", isFocused: false }
  if (parameters.startsWith("?")) return final === "c" ? { type: "attributes" } : undefined
  if (parameters.startsWith(">") || parameters.startsWith("<")) return undefined
  if (final === "Z") return key("shift+tab")
  if (final === "u") return ofCode(Number(first), modifiers)
  if (final === "~") {
    if (first === "27") return ofCode(Number(third), modifiers)
    const base = numbers[first]
    return base === undefined ? other : key(modified(base, modifiers))
  }
  const base = finals[final]
  return base === undefined ? other : key(modified(base, modifiers))
}

const part = (hex: string): number => Number.parseInt(hex, 16) / (16 ** hex.length - 1)

/** The reply to OSC 11; all other replies are not for us. */
const ofOsc = (text: string): Key | undefined => {
  const [, red, green, blue] = /^11;rgba?:([\da-f]{1,4})\/([\da-f]{1,4})\/([\da-f]{1,4})/i.exec(text) ?? []
  if (red === undefined || green === undefined || blue === undefined) return undefined
  const color: Rgb = { red: part(red), green: part(green), blue: part(blue) }
  return { type: "background", color }
}

/** Alt with a control character or another key that has a byte of its own. */
const altControls: Readonly<Record<string, KeyName>> = {
  "\r": "alt+enter",
  "\n": "alt+enter",
  "\t": "alt+tab",
  "\x7f": "alt+backspace",
  "\b": "alt+backspace",
  " ": "alt+space"
}

const ofAlt = (character: string): Key => {
  const named = altControls[character]
  if (named !== undefined) return key(named)
  return /^[a-z]$/i.test(character) ? key(modified(character.toLowerCase(), 3)) : other
}

/** A whole sequence without its ESC; undefined for replies that nobody asked for. */
export const keyOf = (sequence: string): Key | undefined => {
  if (sequence.startsWith("[")) return ofCsi(sequence.slice(1, -1), sequence.at(-1) ?? "")
  if (sequence.startsWith("O")) return key(finals[sequence.slice(1)] ?? "other")
  if (sequence.startsWith("]")) return ofOsc(sequence.slice(1))
  return /^[P_^X]/.test(sequence) && sequence.length > 1 ? undefined : ofAlt(sequence)
}

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
