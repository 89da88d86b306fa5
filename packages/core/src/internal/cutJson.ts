/** Cuts a JSON text that arrives in chunks into small values, so that memory never holds all of it. */

/** The keys and indexes that lead to a value. */
export type Path = ReadonlyArray<string | number>

/** A value in the text, or the end of a container that was entered, which has no text. */
export interface Piece {
  readonly path: Path
  readonly text: string | undefined
}

/** What to do with a value: enter the object or list, keep its text, or skip it. */
export type Handling = "enter" | "keep" | "skip"

interface Open {
  readonly end: "]" | "}"
  /** The index in a list, or the key in an object. */
  at: string | number
  /** What has to come next. */
  next: "key" | "colon" | "value" | "comma"
  /** An empty container may end at once. */
  isEmpty: boolean
}

const space = /\s/
const isSpace = (char: string): boolean => space.test(char)
const endsScalar = (char: string): boolean => char === "," || char === "]" || char === "}" || isSpace(char)

const plain = /^"[^"\\\p{Cc}]*"$/u

/** A key without escapes, as all keys of an archive are; undefined for another one. */
const keyOf = (text: string): string | undefined => plain.test(text) ? text.slice(1, -1) : undefined

/** Cuts one text. It checks the containers that it enters; the reader of a piece checks that. */
export class JsonCutter {
  readonly #open: Array<Open> = []
  readonly #handling: (path: Path, first: string) => Handling
  #pieces: Array<Piece> = []
  #isDone = false
  /** What is being read; undefined between two values. */
  #reading: "key" | "string" | "scalar" | "container" | undefined
  /** Its text, unless it is skipped. */
  #kept: Array<string> | undefined
  /** In a container that is not entered: how deep. */
  #depth = 0
  #inString = false
  #isEscaped = false

  /** `handling` decides about each value by its place and first character. */
  constructor(handling: (path: Path, first: string) => Handling) {
    this.#handling = handling
  }

  /** Whether the value has ended. */
  get isDone(): boolean {
    return this.#isDone
  }

  get #path(): Path {
    return this.#open.map(({ at }) => at)
  }

  /** The next pieces; undefined if the text is not JSON. */
  push(chunk: string): ReadonlyArray<Piece> | undefined {
    this.#pieces = []
    for (let at = 0; at < chunk.length;) {
      const next = this.#reading === undefined ? this.#between(chunk.charAt(at), at) : this.#within(chunk, at)
      if (next === undefined) return undefined
      at = next
    }
    return this.#pieces
  }

  /** Reads what is between values. Returns where to read on; undefined if it may not be there. */
  #between(char: string, at: number): number | undefined {
    if (isSpace(char)) return at + 1
    const top = this.#open.at(-1)
    if (top === undefined) return this.#isDone ? undefined : this.#begin(char, at)
    if (char === top.end && (top.next === "comma" || top.isEmpty)) return this.#leave(at)
    if (top.next === "value") return this.#begin(char, at)
    if (top.next === "key" && char === "\"") {
      this.#reading = "key"
      this.#inString = true
      this.#kept = [char]
      return at + 1
    }
    if (top.next === "colon" && char === ":") {
      top.next = "value"
      return at + 1
    }
    if (top.next !== "comma" || char !== ",") return undefined
    top.next = top.end === "}" ? "key" : "value"
    if (typeof top.at === "number") top.at++
    return at + 1
  }

  #begin(char: string, at: number): number {
    const handling = this.#handling(this.#path, char)
    const top = this.#open.at(-1)
    if (top !== undefined) {
      top.next = "comma"
      top.isEmpty = false
    }
    if (handling === "enter") {
      this.#open.push(
        char === "["
          ? { end: "]", at: 0, next: "value", isEmpty: true }
          : { end: "}", at: "", next: "key", isEmpty: true }
      )
      return at + 1
    }
    this.#kept = handling === "keep" ? [] : undefined
    if (char !== "\"") {
      this.#reading = char === "[" || char === "{" ? "container" : "scalar"
      return at
    }
    this.#reading = "string"
    this.#inString = true
    this.#kept?.push(char)
    return at + 1
  }

  #leave(at: number): number {
    this.#open.pop()
    this.#pieces.push({ path: this.#path, text: undefined })
    this.#isDone = this.#open.length === 0
    return at + 1
  }

  /** Reads on in a value or a key, up to its end or the end of the chunk. */
  #within(chunk: string, from: number): number | undefined {
    let at = from
    let isEnd = false
    if (this.#reading === "scalar") {
      while (at < chunk.length && !endsScalar(chunk.charAt(at))) at++
      isEnd = at < chunk.length
    } else {
      while (at < chunk.length && !isEnd) {
        if (this.#inString) {
          at = this.#endOfString(chunk, at)
          isEnd = this.#reading !== "container" && !this.#inString
        } else {
          const char = chunk.charCodeAt(at++)
          // The codes of quotes, of [ and {, and of ] and }.
          if (char === 0x22) this.#inString = true
          else if (char === 0x5b || char === 0x7b) this.#depth++
          else if (char === 0x5d || char === 0x7d) isEnd = --this.#depth === 0
        }
      }
    }
    this.#kept?.push(chunk.slice(from, at))
    return isEnd && !this.#end() ? undefined : at
  }

  /** The place behind the end of the string, or the end of the chunk. */
  #endOfString(chunk: string, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const char = chunk.charCodeAt(at)
      if (this.#isEscaped) this.#isEscaped = false
      else if (char === 0x5c) this.#isEscaped = true
      else if (char === 0x22) {
        this.#inString = false
        return at + 1
      }
    }
    return chunk.length
  }

  /** Takes what was read. False for a key that cannot be read. */
  #end(): boolean {
    const text = this.#kept?.join("")
    const isKey = this.#reading === "key"
    this.#reading = undefined
    this.#kept = undefined
    const top = this.#open.at(-1)
    if (isKey && top !== undefined) {
      const key = keyOf(text ?? "")
      top.at = key ?? ""
      top.next = "colon"
      top.isEmpty = false
      return key !== undefined
    }
    if (text !== undefined) this.#pieces.push({ path: this.#path, text })
    this.#isDone = top === undefined
    return true
  }
}
