/**
 * Reads a patch as changes of files, in the envelope that models are taught or as a unified diff, and applies its hunks
 * to the bytes of a file. What a hunk does not change stays the same, including line ends and invalid UTF-8. After a
 * crash, the files alone tell whether a patch was applied.
 */
import type { ToolError } from "@skein/core/Tool"
import * as Either from "effect/Either"
import { refusal } from "../refusal.ts"
import { lineEnd } from "./replaceText.ts"

/** A line of a hunk: kept, removed or added. */
interface HunkLine {
  readonly sign: " " | "-" | "+"
  readonly text: string
}

/** Lines that change together. */
interface Hunk {
  readonly lines: ReadonlyArray<HunkLine>
  /** The first line in the old file, counted from 1, if the patch says so. */
  readonly at?: number
  /** Lines that appear somewhere before it, in this order. */
  readonly anchors: ReadonlyArray<string>
  /** Whether it is at the end of the file. */
  readonly atEnd: boolean
  /** Whether the new file ends without a line end. */
  readonly bareEnd: boolean
}

/** What a patch does to one file. */
export type FilePatch =
  | { readonly kind: "add"; readonly path: string; readonly hunks: ReadonlyArray<Hunk> }
  | { readonly kind: "delete"; readonly path: string; readonly hunks: ReadonlyArray<Hunk> }
  | { readonly kind: "update"; readonly path: string; readonly to?: string; readonly hunks: ReadonlyArray<Hunk> }

/** A patch that cannot be parsed. */
const malformed = (line: number, message: string): ToolError =>
  refusal("malformed_patch", `The patch cannot be read at its line ${line}: ${message}`)

const signs = new Set(["+", "-", " "])

const header = /^\*\*\* (Add|Update|Delete) File: (.+)$/

/** Parses the lines of a patch. */
const parseEnvelope = (lines: ReadonlyArray<string>): Either.Either<ReadonlyArray<FilePatch>, ToolError> => {
  const files: Array<FilePatch> = []
  let at = lines.findIndex((line) => line.trim() === "*** Begin Patch") + 1
  const isOver = () => at >= lines.length || (lines[at] as string).trim() === "*** End Patch"
  const isSection = () => isOver() || header.test(lines[at] as string)

  const hunk = (): Hunk | ToolError => {
    const anchors: Array<string> = []
    const body: Array<HunkLine> = []
    let atEnd = false
    for (; !isSection() && body.length === 0 && (lines[at] as string).startsWith("@@"); at++) {
      const anchor = (lines[at] as string).slice(2).trim()
      // A model that mixes the formats writes line numbers here. They are not a line of the file.
      if (anchor !== "" && !/^-\d+(,\d+)? \+\d+(,\d+)? @@/.test(anchor)) anchors.push(anchor)
    }
    for (; !isSection() && !(lines[at] as string).startsWith("@@"); at++) {
      const line = lines[at] as string
      if (line === "*** End of File") {
        atEnd = true
        continue
      }
      const sign = line === "" ? " " : line.charAt(0)
      if (!signs.has(sign)) {
        return malformed(at + 1, `a line of a change begins with a space, "-" or "+", and not with "${sign}".`)
      }
      body.push({ sign: sign as HunkLine["sign"], text: line.slice(1) })
    }
    return body.length === 0
      ? malformed(at, "@@ without lines after it.")
      : { lines: body, anchors, atEnd, bareEnd: false }
  }

  while (!isOver()) {
    const line = lines[at] as string
    const [, verb, name = ""] = header.exec(line) ?? []
    const path = name.trim()
    if (verb === undefined) {
      if (line.trim() !== "") {
        return Either.left(
          malformed(at + 1, `"*** Add File: ", "*** Update File: " or "*** Delete File: " is expected here.`)
        )
      }
      at++
      continue
    }
    at++
    if (verb === "Delete") {
      files.push({ kind: "delete", path, hunks: [] })
      continue
    }
    const to = verb === "Update" ? /^\*\*\* Move to: (.+)$/.exec(lines[at] ?? "")?.[1]?.trim() : undefined
    if (to !== undefined) at++
    const hunks: Array<Hunk> = []
    while (!isSection()) {
      const next = hunk()
      if ("_tag" in next) return Either.left(next)
      hunks.push(next)
    }
    if (verb === "Add") {
      if (hunks.some((each) => each.lines.some(({ sign }) => sign !== "+"))) {
        return Either.left(malformed(at, `each line of the new file ${path} must begin with "+".`))
      }
      files.push({ kind: "add", path, hunks })
    } else if (hunks.length === 0 && to === undefined) {
      return Either.left(malformed(at, `nothing is changed in ${path}.`))
    } else {
      files.push({ kind: "update", path, ...(to === undefined ? {} : { to }), hunks })
    }
  }
  return Either.right(files)
}

const hunkHead = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/

/** A name in a `---` or `+++` line, without the time that `diff` writes after a tab. */
const named = (line: string): string => line.slice(4).replace(/\t.*$/, "").trim()

/** The names of the old and the new file, without git's `a/` and `b/`. */
const names = (before: string, after: string): readonly [string, string] => {
  const isGit = (before === "/dev/null" || before.startsWith("a/")) && (after === "/dev/null" || after.startsWith("b/"))
  return isGit ? [before.replace(/^a\//, ""), after.replace(/^b\//, "")] : [before, after]
}

/**
 * Makes what says whether a file that was renamed before a line is changed as well: then its `---` and `+++` lines contain
 * both names. The lines that decide it are looked for once, if it is asked from the top down.
 */
const makeRenamesWithHunks = (lines: ReadonlyArray<string>): (from: number) => boolean => {
  const begins = (index: number, text: string) => lines[index]?.startsWith(text) === true
  let mark = 0
  return (from) => {
    for (mark = Math.max(mark, from); mark < lines.length; mark++) {
      if (begins(mark, "diff --git ") || begins(mark, "--- ")) break
    }
    return begins(mark, "--- ")
  }
}

/** Parses the lines of a patch. */
const parseUnified = (lines: ReadonlyArray<string>): Either.Either<ReadonlyArray<FilePatch>, ToolError> => {
  const files: Array<FilePatch> = []
  let at = 0
  const begins = (index: number, text: string) => lines[index]?.startsWith(text) === true
  const renamesWithHunks = makeRenamesWithHunks(lines)
  const isFile = (index: number) =>
    begins(index, "diff --git ") || (begins(index, "--- ") && begins(index + 1, "+++ ") && begins(index + 2, "@@ "))

  const hunk = (): Hunk | ToolError => {
    const head = hunkHead.exec(lines[at] as string)
    if (head === null) return malformed(at + 1, "a hunk begins with @@ -LINE,COUNT +LINE,COUNT @@.")
    const body: Array<HunkLine> = []
    let bareEnd = false
    let old = Number(head[2] ?? 1)
    let fresh = Number(head[3] ?? 1)
    for (at++; at < lines.length; at++) {
      const line = lines[at] as string
      const isOwed = old > 0 || fresh > 0
      if (line.startsWith("@@ ") || isFile(at)) break
      if (line.startsWith("\\")) {
        bareEnd = body.at(-1)?.sign !== "-"
        continue
      }
      // Editors strip the space from empty lines. After the last line, an empty line only ends the patch.
      if (line === "" && !isOwed) break
      const sign = line === "" ? " " : line.charAt(0)
      if (sign !== " " && sign !== "-" && sign !== "+") {
        if (!isOwed) break
        return malformed(at + 1, `a line of a hunk begins with a space, "-" or "+", and not with "${sign}".`)
      }
      if (sign !== "+") old--
      if (sign !== "-") fresh--
      body.push({ sign, text: line.slice(1) })
    }
    // If the counts are too high, the empty lines before the next file were counted as lines of this one.
    for (let last = at - 1; lines[last] === "" && body.at(-1)?.text === ""; last--) body.pop()
    return { lines: body, at: Number(head[1]), anchors: [], atEnd: false, bareEnd }
  }

  while (at < lines.length) {
    const line = lines[at] as string
    if (/^(GIT binary patch|Binary files )/.test(line)) {
      return Either.left(malformed(at + 1, "binary files cannot be patched. Leave them out."))
    }
    if (/^(old mode|copy from) /.test(line)) {
      return Either.left(malformed(at + 1, "changes of mode and copies are not made by this tool. Use bash for them."))
    }
    const from = /^rename from (.+)$/.exec(line)?.[1]
    const to = /^rename to (.+)$/.exec(lines[at + 1] ?? "")?.[1]
    if (from !== undefined && to !== undefined && !renamesWithHunks(at + 2)) {
      files.push({ kind: "update", path: from, to, hunks: [] })
      at += 2
      continue
    }
    if (!(line.startsWith("--- ") && begins(at + 1, "+++ "))) {
      if (hunkHead.test(line)) return Either.left(malformed(at + 1, "a hunk without --- and +++ lines before it."))
      at++
      continue
    }
    const [before, after] = names(named(line), named(lines[at + 1] as string))
    at += 2
    const hunks: Array<Hunk> = []
    while (at < lines.length && (lines[at] as string).startsWith("@@")) {
      const next = hunk()
      if ("_tag" in next) return Either.left(next)
      hunks.push(next)
    }
    if (hunks.length === 0) return Either.left(malformed(at, `no hunk follows for ${after}.`))
    if (before === "/dev/null") files.push({ kind: "add", path: after, hunks })
    else if (after === "/dev/null") files.push({ kind: "delete", path: before, hunks })
    else files.push({ kind: "update", path: before, ...(before === after ? {} : { to: after }), hunks })
  }
  return Either.right(files)
}

const unfenced = (text: string): string => {
  const lines = text.replaceAll("\r\n", "\n").split("\n")
  const isFenced = lines[0]?.startsWith("```") === true && lines.findLastIndex((line) => line.trim() === "```") > 0
  return isFenced ? lines.slice(1, lines.findLastIndex((line) => line.trim() === "```")).join("\n") : lines.join("\n")
}

/** Parses a patch. */
export const parsePatch = (text: string): Either.Either<ReadonlyArray<FilePatch>, ToolError> => {
  const lines = unfenced(text).trimEnd().split("\n")
  const isEnvelope = lines.some((line) => line.trim() === "*** Begin Patch")
  return Either.flatMap(isEnvelope ? parseEnvelope(lines) : parseUnified(lines), (files) => {
    if (files.length > 0) return Either.right(files)
    return Either.left(
      malformed(1, "no file is named in it. Give a unified diff (--- a/x, +++ b/x, @@ …) or an apply_patch block.")
    )
  })
}

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
