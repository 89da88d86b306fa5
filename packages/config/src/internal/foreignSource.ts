/** Reads a JSON file of another tool as its owner does: comments, trailing commas, and of keys that stand twice the last one. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ConfigIssue } from "../ConfigError.ts"
import { type ConfigContent, issueIn, onlyIssues } from "./configFile.ts"
import { type Fault, type LocatedObject, parseLenient } from "./located.ts"
import { readLenient } from "./readText.ts"

/** A remark on another tool's file, unless it is said already what kind of remark it is. */
export const asNote = (issue: ConfigIssue): ConfigIssue => ({ kind: "note", ...issue })

/** The document in such a file, or what is told where there is none that could be read. */
export const parseForeign = Effect.fnUntraced(function*(path: string) {
  // The rules in it would count, so that it is said aloud that they do not.
  const without = (issue: Omit<ConfigIssue, "file">): { readonly content: ConfigContent } => ({
    content: {
      ...onlyIssues(path, []),
      warnings: [{ file: path, ...issue, message: `this file is left out: ${issue.message}`, kind: "restriction" }]
    }
  })
  const read = yield* Effect.either(readLenient(path))
  if (Either.isLeft(read)) return without(read.left)
  const parsed = yield* Effect.either(Effect.try({
    try: () => parseLenient(read.right),
    catch: () => ({ message: "it is nested too deeply" })
  }))
  if (Either.isLeft(parsed)) return without(parsed.left)
  const { fatal, notes, tree } = parsed.right
  if (fatal !== undefined) return without(issueIn(path)(fatal))
  if (tree.kind === "object") return { tree, notes } satisfies { tree: LocatedObject; notes: ReadonlyArray<Fault> }
  return without({ ...tree.at, message: "it must be an object" })
})
