/** A numbered range of a text's lines, within the limits of what a model is shown. */
import { bound } from "@skein/core/Spill"

/** How many characters of a line are shown. */
export const maximumLine = 2_000

/** Room for the notes below the lines. */
const reserved = { lines: 5, bytes: 1_024 }

/** The beginning of a text, never half a character. */
export const head = (text: string, length: number): string => {
  if (text.length <= length) return text
  const last = text.charCodeAt(length - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)
}

/** The lines in the requested range. */
export interface Lines {
  readonly text: string
  /** The number of the last line in `text`. It is smaller than requested if there was no more room, or no more line. */
  readonly last: number
  /** The total number of lines. */
  readonly total: number
  /** How many of the lines in `text` are truncated. */
  readonly cut: number
}

/** Takes a text in pieces and keeps the lines `offset` to `offset + limit - 1`, counted from 1. */
export const lineWindow = (offset: number, limit: number) => {
  const end = offset + Math.min(limit, bound.lines - reserved.lines)
  const kept: Array<string> = []
  let bytes = 0
  let cut = 0
  let number = 1
  let full = false
  let begun = ""
  // The part of a line that is too long to keep is only counted.
  let dropped = 0

  const keep = (rest: string) => {
    const whole = begun + rest
    const line = whole.endsWith("\r") ? whole.slice(0, -1) : whole
    const isCut = dropped > 0 || line.length > maximumLine
    const shown = isCut ? `${head(line, maximumLine)}… [cut: the line has ${line.length + dropped} characters]` : line
    const numbered = `${String(number).padStart(6)}\t${shown}`
    const size = Buffer.byteLength(numbered) + 1
    if (bytes + size > bound.bytes - reserved.bytes) {
      full = true
      return
    }
    bytes += size
    if (isCut) cut++
    kept.push(numbered)
  }

  const isInWindow = () => !full && number >= offset && number < end

  return {
    /** The next piece of the text. */
    feed: (text: string) => {
      let at = 0
      for (let next = text.indexOf("\n"); next >= 0; next = text.indexOf("\n", at)) {
        if (isInWindow()) keep(text.slice(at, next))
        begun = ""
        dropped = 0
        number++
        at = next + 1
      }
      if (at === text.length) return
      const room = Math.max(0, maximumLine * 2 - begun.length)
      dropped += Math.max(0, text.length - at - room)
      begun += text.slice(at, at + room)
    },
    /** The result, after the last piece. */
    end: (): Lines => {
      const isOpen = begun !== ""
      if (isOpen && isInWindow()) keep("")
      return { text: kept.join("\n"), last: offset + kept.length - 1, total: isOpen ? number : number - 1, cut }
    }
  }
}
