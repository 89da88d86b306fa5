/** Parses patches: unified diffs, or the `apply_patch` format. */
import type { ToolError } from "@skein/core/Tool"
import * as Either from "effect/Either"
import { type FilePatch, malformed } from "./filePatch.ts"
import { parseEnvelope } from "./patchEnvelope.ts"
import { parseUnified } from "./patchUnified.ts"

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
