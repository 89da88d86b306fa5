/** Parses the `apply_patch` format: `*** Begin Patch`, then a section for each file, then `*** End Patch`. */
import type { ToolError } from "@skein/core/Tool"
import * as Either from "effect/Either"
import { type FilePatch, type Hunk, type HunkLine, malformed } from "./filePatch.ts"

const signs = new Set(["+", "-", " "])

const header = /^\*\*\* (Add|Update|Delete) File: (.+)$/

/** Parses the lines of a patch. */
export const parseEnvelope = (lines: ReadonlyArray<string>): Either.Either<ReadonlyArray<FilePatch>, ToolError> => {
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
