/** What a program writes, in bounded memory: all of it while it is short, then its beginning and its end. */
import { bound } from "@skein/core/Spill"
import { head as headOf } from "./lineWindow.ts"

/** What is shown of an output as it is; what is longer loses its middle. The rest of the bound is for notes. */
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

// A cut inside a character leaves replacement characters where it was made.
const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8").replace(/^\uFFFD{1,3}|\uFFFD$/gu, "")

/** Collects an output. */
export const outputBuffer = () => {
  let kept: Array<Buffer> = []
  let head: Buffer | undefined
  let total = 0
  let held = 0
  let lines = 0

  const shorten = () => {
    const all = Buffer.concat(kept)
    head ??= Buffer.from(firstLines(all))
    // A copy, so that what it was cut from can go.
    kept = [Buffer.from(all.subarray(Math.max(0, all.length - end.bytes - 1)))]
    held = kept[0]?.length ?? 0
  }

  return {
    /** Adds to the output; gives what has to be kept elsewhere: all so far when it becomes too long, then each piece. */
    push: (bytes: Buffer): Buffer | undefined => {
      total += bytes.length
      held += bytes.length
      kept.push(bytes)
      if (head !== undefined) {
        if (held > end.bytes * 8) shorten()
        return bytes
      }
      lines += countLines(bytes)
      if (total <= whole.bytes && lines <= whole.lines) return undefined
      const all = Buffer.concat(kept)
      shorten()
      return all
    },
    /** The last lines, for those who watch. */
    latest: (): string => {
      const text = textOf((kept.at(-1) ?? Buffer.alloc(0)).subarray(-2_000)).trimEnd()
      return headOf(text.split("\n").slice(-3).join("\n"), 600)
    },
    /** What is shown; `note` says what becomes of the middle, which has this many bytes. */
    text: (note: (left: number) => string): string => {
      if (head === undefined) return Buffer.concat(kept).toString("utf8")
      const tail = lastLines(Buffer.concat(kept).subarray(-Math.min(held, Math.max(1, total - head.length))))
      return `${textOf(head).trimEnd()}\n\n${note(total - head.length - tail.length)}\n\n${textOf(tail)}`
    }
  }
}
