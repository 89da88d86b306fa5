/** Parses unified diffs, as `diff -u` and `git diff` write them. It accepts wrong counts in the head of a hunk. */
import type { ToolError } from "@skein/core/Tool"
import * as Either from "effect/Either"
import { type FilePatch, type Hunk, type HunkLine, malformed } from "./filePatch.ts"

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
export const parseUnified = (lines: ReadonlyArray<string>): Either.Either<ReadonlyArray<FilePatch>, ToolError> => {
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
