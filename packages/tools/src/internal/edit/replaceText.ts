/**
 * Replaces a text in the bytes of a file. Invalid UTF-8, and the line ends of other lines, stay the same. After a crash,
 * the file alone tells whether that was done.
 */
import type { ToolError } from "@skein/core/Tool"
import * as Either from "effect/Either"
import { refusal } from "../refusal.ts"

/** A file after a replacement, and the lines of the replacements. */
interface Replaced {
  readonly bytes: Uint8Array
  readonly lines: ReadonlyArray<number>
}

/** One character for each byte, so that positions in the text are positions in the file. */
const asBytes = (text: string): string => Buffer.from(text).toString("latin1")

interface Span {
  readonly from: number
  readonly to: number
}

/** Non-overlapping positions in their order, and the number of positions that overlap them. */
interface Places {
  readonly apart: ReadonlyArray<Span>
  readonly overlapping: number
}

/** The positions of a pattern in a text, in time proportional to both lengths (Knuth, Morris and Pratt). */
const places = (text: string, pattern: string): Places => {
  const apart: Array<Span> = []
  let overlapping = 0
  if (pattern === "" || pattern.length > text.length) return { apart, overlapping }
  const border = new Int32Array(pattern.length)
  for (let i = 1, matched = 0; i < pattern.length; i++) {
    while (matched > 0 && pattern.charCodeAt(i) !== pattern.charCodeAt(matched)) matched = border[matched - 1] as number
    if (pattern.charCodeAt(i) === pattern.charCodeAt(matched)) matched++
    border[i] = matched
  }
  let end = 0
  for (let i = 0, matched = 0; i < text.length; i++) {
    while (matched > 0 && text.charCodeAt(i) !== pattern.charCodeAt(matched)) matched = border[matched - 1] as number
    if (text.charCodeAt(i) === pattern.charCodeAt(matched)) matched++
    if (matched < pattern.length) continue
    const from = i - matched + 1
    matched = border[matched - 1] as number
    if (from < end) {
      overlapping++
      continue
    }
    end = i + 1
    apart.push({ from, to: end })
  }
  return { apart, overlapping }
}

/** The positions of a pattern, whatever the line ends in text and pattern: `\r\n` and `\n` are equal. */
const placesAcrossLineEnds = (text: string, pattern: string): Places => {
  const flat = text.replaceAll("\r\n", "\n")
  const found = places(flat, pattern.replaceAll("\r\n", "\n"))
  if (flat.length === text.length || found.apart.length === 0) return found
  // Where a line end was shortened in the flat text. Each moves later positions one further on in the file.
  const shortened: Array<number> = []
  for (let at = text.indexOf("\r\n"); at >= 0; at = text.indexOf("\r\n", at + 2)) shortened.push(at - shortened.length)
  const before = (position: number): number => {
    let low = 0
    let high = shortened.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((shortened[middle] as number) < position) low = middle + 1
      else high = middle
    }
    return low
  }
  return {
    ...found,
    apart: found.apart.map(({ from, to }) => ({ from: from + before(from), to: to + before(to) }))
  }
}

/** The numbers of the lines in which positions are, counted from 1. */
const lineNumbers = (text: string, found: ReadonlyArray<Span>): ReadonlyArray<number> => {
  let line = 1
  let at = 0
  return found.map(({ from }) => {
    for (let next = text.indexOf("\n", at); next >= 0 && next < from; next = text.indexOf("\n", at)) {
      line++
      at = next + 1
    }
    return line
  })
}

const countOf = (text: string, part: string): number => text.split(part).length - 1

/** The line end of most lines of a text. */
export const lineEnd = (text: string): "\n" | "\r\n" => {
  const windows = countOf(text, "\r\n")
  return windows > 0 && windows * 2 >= countOf(text, "\n") ? "\r\n" : "\n"
}

const listed = (lines: ReadonlyArray<number>): string =>
  `${lines.slice(0, 10).join(", ")}${lines.length > 10 ? " and more" : ""}`

const notFound = (text: string, oldString: string, shown: string): ToolError => {
  const lines = oldString.split("\n")
  if (lines.some((line) => line !== "") && lines.every((line) => line === "" || /^ *\d+\t/.test(line))) {
    return refusal(
      "no_match",
      `oldString was not found in ${shown}: it has the line numbers of read in it. Leave out number and tab.`
    )
  }
  const first = asBytes(lines.find((line) => line.trim() !== "") ?? "").trim()
  const similar = first === ""
    ? []
    : text.split("\n").flatMap((line, index) => (line.trim() === first ? [index + 1] : []))
  return refusal(
    "no_match",
    `oldString was not found in ${shown}. ${
      similar.length === 0
        ? "Read the file again and copy the text exactly, white space included."
        : `Its first line is at line ${
          listed(similar)
        }, but white space or what follows differs: read there and copy it exactly.`
    }`
  )
}

/** Replaces the only occurrence of a text, or all of them. */
export const replaceText = (
  file: Uint8Array,
  edit: { readonly oldString: string; readonly newString: string; readonly replaceAll: boolean; readonly shown: string }
): Either.Either<Replaced, ToolError> => {
  const { newString, oldString, replaceAll, shown } = edit
  const text = Buffer.from(file.buffer, file.byteOffset, file.byteLength).toString("latin1")
  const pattern = asBytes(oldString)
  const exact = places(text, pattern)
  const { apart, overlapping } = exact.apart.length > 0 ? exact : placesAcrossLineEnds(text, pattern)
  if (apart.length === 0) return Either.left(notFound(text, oldString, shown))
  const count = apart.length + overlapping
  if (count > 1 && !replaceAll) {
    return Either.left(refusal(
      "ambiguous",
      `oldString is in ${shown} ${count} times, at lines ${
        listed(lineNumbers(text, apart))
      }. Give more of the lines around the one you mean, or set replaceAll.`
    ))
  }
  const inserted = lineEnd(text) === "\r\n" ? newString.replaceAll("\r\n", "\n").replaceAll("\n", "\r\n") : newString
  const replacement = asBytes(inserted)
  const pieces: Array<string> = []
  let at = 0
  for (const { from, to } of apart) {
    pieces.push(text.slice(at, from), replacement)
    at = to
  }
  pieces.push(text.slice(at))
  return Either.right({ bytes: Buffer.from(pieces.join(""), "latin1"), lines: lineNumbers(text, apart) })
}

/** Whether an edit was made; if so, the lines of the new text. */
type FoundEdit =
  | { readonly state: "made"; readonly lines: ReadonlyArray<number> }
  | { readonly state: "open" | "unknown" }

const flat = (text: string): string => text.replaceAll("\r\n", "\n")

const same = (text: string): string => text

/** Checks the file. If the old text is a part of the new one, it only counts where the new one does not surround it. */
export const foundEdit = (
  file: Uint8Array,
  { newString, oldString }: { readonly oldString: string; readonly newString: string }
): FoundEdit => {
  // Line ends only matter if they are the whole change.
  const form = flat(oldString) === flat(newString) ? same : flat
  const text = form(Buffer.from(file.buffer, file.byteOffset, file.byteLength).toString("latin1"))
  const fresh = places(text, form(asBytes(newString))).apart
  let at = 0
  const isOpen = places(text, form(asBytes(oldString))).apart.some(({ from, to }) => {
    for (let around = fresh[at]; around !== undefined && around.to < to; around = fresh[at]) at++
    return (fresh[at]?.from ?? Number.POSITIVE_INFINITY) > from
  })
  if (isOpen) return { state: "open" }
  return newString === "" || fresh.length > 0
    ? { state: "made", lines: lineNumbers(text, fresh) }
    : { state: "unknown" }
}
