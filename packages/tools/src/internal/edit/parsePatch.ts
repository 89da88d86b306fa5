/** Reads a patch as changes of files: in the envelope that models are taught, or as a unified diff. */
import type { ToolError } from "@skein/core/Tool"
import * as Either from "effect/Either"
import { refusal } from "../refusal.ts"

/** A line of a hunk: kept, removed or added. */
interface HunkLine {
  readonly sign: " " | "-" | "+"
  readonly text: string
}

/** Lines that change together. */
export interface Hunk {
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
