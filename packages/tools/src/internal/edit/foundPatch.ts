/** Tells from the files whether a patch was applied to them. After a crash, nothing else is known about it. */
import * as Either from "effect/Either"
import { applyHunks } from "./applyHunks.ts"
import type { FilePatch, Hunk } from "./filePatch.ts"

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
