/**
 * Applies hunks to the bytes of a file. What a hunk does not change stays the same, including line ends and invalid
 * UTF-8. After a crash, the files alone tell whether a patch was applied.
 */
import type { ToolError } from "@skein/core/Tool"
import * as Either from "effect/Either"
import { refusal } from "../refusal.ts"
import type { FilePatch, Hunk } from "./parsePatch.ts"
import { lineEnd } from "./replaceText.ts"

const asBytes = (text: string): string => Buffer.from(text).toString("latin1")

/** How lines are compared: exactly, then without white space at the end, then without white space around them. */
const likenesses: ReadonlyArray<(line: string) => string> = [
  (line) => line,
  (line) => line.trimEnd(),
  (line) => line.trim()
]

/** The lines of a file as one likeness sees them, and where each of them is. */
interface Index {
  readonly lines: ReadonlyArray<string>
  readonly places: ReadonlyMap<string, ReadonlyArray<number>>
}

const indexOf = (lines: ReadonlyArray<string>): Index => {
  const places = new Map<string, Array<number>>()
  lines.forEach((line, at) => {
    const known = places.get(line)
    if (known === undefined) places.set(line, [at])
    else known.push(at)
  })
  return { lines, places }
}

/** How many of these ascending numbers are below a limit. */
const countBelow = (numbers: ReadonlyArray<number>, limit: number): number => {
  let low = 0
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] as number) < limit) low = middle + 1
    else high = middle
  }
  return low
}

/** Finds the position of lines at or after `from` that is nearest to `near`. */
type Place = (wanted: readonly [string, ...ReadonlyArray<string>], from: number, near: number) => number | undefined

/** Makes it for a file. The places of all lines are found once: a patch may have thousands of changes. */
const makePlace = (lines: ReadonlyArray<string>): Place => {
  const indexes: Array<Index> = []
  return (wanted, from, near) => {
    for (const [likeness, like] of likenesses.entries()) {
      const { lines: liked, places } = indexes[likeness] ??= indexOf(lines.map(like))
      const sought = wanted.map(like)
      const candidates = places.get(like(wanted[0])) ?? []
      let best: number | undefined
      for (let next = countBelow(candidates, from); next < candidates.length; next++) {
        const at = candidates[next] as number
        if (at + sought.length > liked.length) break
        if (best !== undefined && at - near >= Math.abs(best - near)) break
        if (!sought.every((line, index) => liked[at + index] === line)) continue
        if (best === undefined || Math.abs(at - near) < Math.abs(best - near)) best = at
      }
      if (best !== undefined) return best
    }
    return undefined
  }
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
  const place = makePlace(lines)
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
      const found = place([asBytes(anchor)], from, from)
      if (found === undefined) return Either.left(unfit(shown, index + 1, [asBytes(anchor)]))
      from = found + 1
    }
    const [first, ...rest] = before
    let at: number | undefined
    if (first === undefined) {
      at = hunk.at !== undefined
        ? Math.min(hunk.at + drift, lines.length)
        : hunk.anchors.length > 0
        ? from
        : lines.length
      if (at < cursor) return Either.left(unfit(shown, index + 1, []))
    } else {
      const near = hunk.atEnd ? lines.length - before.length : hunk.at === undefined ? from : hunk.at - 1 + drift
      at = place([first, ...rest], from, Math.max(near, from))
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

/** Whether a part of a patch was applied. */
export type FoundPatch = "made" | "open" | "unknown"

const swapped = { "+": "-", "-": "+", " ": " " } as const

const count = (hunk: Hunk, sign: "+" | "-"): number => hunk.lines.filter((line) => line.sign === sign).length

/** The hunks that revert these. */
const undoing = (hunks: ReadonlyArray<Hunk>): ReadonlyArray<Hunk> => {
  let drift = 0
  return hunks.map((hunk) => {
    const added = count(hunk, "+")
    const removed = count(hunk, "-")
    const isAll = (number: number) => number === hunk.lines.length
    // A hunk without a line of the old file counts from the line before it.
    const shift = drift + (isAll(added) ? 1 : isAll(removed) ? -1 : 0)
    drift += added - removed
    const lines = hunk.lines.map(({ sign, text }) => ({ sign: swapped[sign], text }))
    return { ...hunk, lines, bareEnd: false, ...(hunk.at === undefined ? {} : { at: hunk.at + shift }) }
  })
}

const updated = (file: Uint8Array, hunks: ReadonlyArray<Hunk>): FoundPatch => {
  const fits = Either.isRight(applyHunks(file, hunks, ""))
  // Hunks also match if white space differs, so only a round trip gives certainty.
  const there = Either.flatMap(applyHunks(file, undoing(hunks), ""), (before) => applyHunks(before, hunks, ""))
  const isMade = Either.isRight(there) && Buffer.compare(there.right, file) === 0
  // Both can be true if lines are only added or only removed. Then the change is there, and nobody wants it twice.
  if (isMade) return !fits || hunks.some((hunk) => count(hunk, "+") > 0) ? "made" : "open"
  return fits ? "open" : "unknown"
}

const moved = (hunks: ReadonlyArray<Hunk>, from: Uint8Array | undefined, to: Uint8Array | undefined): FoundPatch => {
  if (from === undefined && to !== undefined) {
    return hunks.length === 0 || updated(to, hunks) === "made" ? "made" : "unknown"
  }
  return from !== undefined && to === undefined && Either.isRight(applyHunks(from, hunks, "")) ? "open" : "unknown"
}

/** Checks the old and the new path of the file. */
export const foundPatch = (
  patch: FilePatch,
  from: Uint8Array | undefined,
  to: Uint8Array | undefined
): FoundPatch => {
  if (patch.kind === "delete") return from === undefined ? "made" : "open"
  if (patch.kind === "update" && patch.to !== undefined) return moved(patch.hunks, from, to)
  if (patch.kind === "update") return from === undefined ? "unknown" : updated(from, patch.hunks)
  if (from === undefined) return "open"
  const after = applyHunks(new Uint8Array(), patch.hunks, "")
  return Either.isRight(after) && Buffer.compare(after.right, from) === 0 ? "made" : "unknown"
}
