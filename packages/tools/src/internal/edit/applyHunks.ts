/**
 * Applies hunks to the bytes of a file. What a hunk does not change stays the same, including line ends and invalid
 * UTF-8.
 */
import type { ToolError } from "@skein/core/Tool"
import * as Either from "effect/Either"
import { refusal } from "../refusal.ts"
import type { Hunk } from "./filePatch.ts"
import { lineEnd } from "./replaceText.ts"

const asBytes = (text: string): string => Buffer.from(text).toString("latin1")

/** How lines are compared: exactly, then without white space at the end, then without white space around them. */
const likenesses: ReadonlyArray<(line: string) => string> = [
  (line) => line,
  (line) => line.trimEnd(),
  (line) => line.trim()
]

/** The position of lines at or after `from` that is nearest to `near`. */
const place = (
  lines: ReadonlyArray<string>,
  wanted: ReadonlyArray<string>,
  from: number,
  near: number
): number | undefined => {
  for (const like of likenesses) {
    const sought = wanted.map(like)
    let best: number | undefined
    for (let at = from; at + sought.length <= lines.length; at++) {
      if (best !== undefined && at - near >= Math.abs(best - near)) break
      if (!sought.every((line, index) => like(lines[at + index] as string) === line)) continue
      if (best === undefined || Math.abs(at - near) < Math.abs(best - near)) best = at
    }
    if (best !== undefined) return best
  }
  return undefined
}

const unfit = (shown: string, number: number, missing: ReadonlyArray<string>): ToolError =>
  refusal(
    "no_match",
    `Change ${number} of ${shown} does not fit the file: these lines are not in it one after the other (or not after the change before):\n${
      missing.slice(0, 5).map((line) => Buffer.from(line, "latin1").toString("utf8")).join("\n")
    }${missing.length > 5 ? "\n…" : ""}\nRead the file and make the patch anew. Nothing was changed.`
  )

/** The file after all hunks, in their order. */
export const applyHunks = (
  file: Uint8Array,
  hunks: ReadonlyArray<Hunk>,
  shown: string
): Either.Either<Uint8Array, ToolError> => {
  const text = Buffer.from(file.buffer, file.byteOffset, file.byteLength).toString("latin1")
  const end = lineEnd(text)
  const raw = text.split("\n")
  let endsBare = raw.at(-1) !== ""
  if (!endsBare) raw.pop()
  const lines = raw.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line))
  const result: Array<string> = []
  let cursor = 0
  let drift = 0
  const copyTo = (to: number) => {
    for (; cursor < to; cursor++) result.push(raw[cursor] as string)
  }

  for (const [index, hunk] of hunks.entries()) {
    const before = hunk.lines.filter(({ sign }) => sign !== "+").map(({ text: line }) => asBytes(line))
    let from = cursor
    for (const anchor of hunk.anchors) {
      const found = place(lines, [asBytes(anchor)], from, from)
      if (found === undefined) return Either.left(unfit(shown, index + 1, [asBytes(anchor)]))
      from = found + 1
    }
    let at: number | undefined
    if (before.length === 0) {
      at = hunk.at !== undefined
        ? Math.min(hunk.at + drift, lines.length)
        : hunk.anchors.length > 0
        ? from
        : lines.length
      if (at < cursor) return Either.left(unfit(shown, index + 1, []))
    } else {
      const near = hunk.atEnd ? lines.length - before.length : hunk.at === undefined ? from : hunk.at - 1 + drift
      at = place(lines, before, from, Math.max(near, from))
    }
    if (at === undefined) return Either.left(unfit(shown, index + 1, before))
    if (hunk.at !== undefined && before.length > 0) drift = at - (hunk.at - 1)
    copyTo(at)
    for (const { sign, text: line } of hunk.lines) {
      if (sign === "+") result.push(asBytes(line) + (end === "\r\n" ? "\r" : ""))
      else if (sign === " ") copyTo(cursor + 1)
      else cursor++
    }
    if (cursor === lines.length) endsBare = hunk.bareEnd || (endsBare && hunk.lines.at(-1)?.sign === " ")
  }
  copyTo(raw.length)
  const whole = result.join("\n")
  const after = result.length === 0 ? "" : endsBare ? whole.replace(/\r$/, "") : `${whole}\n`
  return Either.right(Buffer.from(after, "latin1"))
}
