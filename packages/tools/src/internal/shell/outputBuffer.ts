/** Collects the output of a program in bounded memory: all of it while it is short, then its beginning and its end. */
import { bound } from "@skein/core/Spill"
import { head as headOf } from "../files/lineWindow.ts"

/** How much of an output is shown unchanged. A longer one loses its middle. The rest of the limit is for notes. */
const whole = { lines: bound.lines - 20, bytes: bound.bytes - 2_048 }
const end = { lines: Math.floor(whole.lines / 2), bytes: Math.floor(whole.bytes / 2) }

const newline = 10

const countLines = (bytes: Uint8Array): number => {
  let lines = 0
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) lines++
  return lines
}

/** The first lines of a text that fit, or the beginning of its first line. */
const firstLines = (bytes: Buffer): Buffer => {
  let to = 0
  for (let line = 0; line < end.lines; line++) {
    const next = bytes.indexOf(newline, to)
    if (next < 0 || next >= end.bytes) break
    to = next + 1
  }
  return bytes.subarray(0, to === 0 ? end.bytes : to)
}

/** The last lines of a text that fit, or the end of its last line. */
const lastLines = (bytes: Buffer): Buffer => {
  const least = Math.max(0, bytes.length - end.bytes)
  let from = bytes.length
  for (let line = 0; line < end.lines; line++) {
    const before = from < 2 ? -1 : bytes.lastIndexOf(newline, from - 2)
    if (before + 1 < least) break
    from = before + 1
    if (from === 0) break
  }
  return bytes.subarray(from === bytes.length ? least : from)
}

// A cut inside a character produces replacement characters there.
const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8").replace(/^\uFFFD{1,3}|\uFFFD$/gu, "")

/** The last bytes that were added. */
const tailBuffer = (size: number) => {
  const bytes = Buffer.alloc(size)
  let held = 0
  return {
    push: (more: Buffer) => {
      const taken = more.subarray(Math.max(0, more.length - size))
      bytes.copyWithin(0, taken.length)
      taken.copy(bytes, size - taken.length)
      held = Math.min(size, held + taken.length)
    },
    last: (length: number): Buffer => bytes.subarray(size - Math.min(length, held))
  }
}

/** Collects an output. Once the output is too long to be shown whole, it keeps none of the pieces that it gets. */
export const outputBuffer = () => {
  const tail = tailBuffer(end.bytes)
  let kept: Array<Buffer> = []
  let head: Buffer | undefined
  let total = 0
  let lines = 0

  return {
    /**
     * Adds to the output. Returns what has to be stored elsewhere: everything so far when it becomes too long, then
     * each piece.
     */
    push: (bytes: Buffer): Buffer | undefined => {
      total += bytes.length
      tail.push(bytes)
      if (head !== undefined) return bytes
      kept.push(bytes)
      lines += countLines(bytes)
      if (total <= whole.bytes && lines <= whole.lines) return undefined
      const all = Buffer.concat(kept)
      head = Buffer.from(firstLines(all))
      kept = []
      return all
    },
    /** The last lines, for live progress. */
    latest: (): string => headOf(textOf(tail.last(2_000)).trimEnd().split("\n").slice(-3).join("\n"), 600),
    /** What is shown; `note` describes what happened to the middle, which has this many bytes. */
    text: (note: (left: number) => string): string => {
      if (head === undefined) return Buffer.concat(kept).toString("utf8")
      const last = lastLines(tail.last(total - head.length))
      return `${textOf(head).trimEnd()}\n\n${note(total - head.length - last.length)}\n\n${textOf(last)}`
    }
  }
}
