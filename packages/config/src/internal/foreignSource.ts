/**
 * Reads a JSON file of another tool as its owner does: with comments and trailing commas, and the last value of a
 * repeated key.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ConfigIssue } from "../ConfigError.ts"
import { type ConfigContent, issueIn, onlyIssues } from "./configContent.ts"
import { settleContent } from "./configFile.ts"
import { entry, text } from "./foreign.ts"
import { type Fault, type LocatedObject, parseLenient } from "./located.ts"
import { readLenient } from "./readText.ts"

/** A remark on another tool's file, unless it already has a kind. */
export const asNote = (issue: ConfigIssue): ConfigIssue => ({ kind: "note", ...issue })

/** What a restricting file contains somewhere, in either tool's terms. */
const restricts = /permission|sandbox|"(?:deny\w*|ask|hooks|tools|disallowed\w*|skillOverrides)"/i

const start = { line: 1, column: 1 }

/** A rule that denies every call. */
const denying = (path: string): ConfigContent =>
  settleContent(
    {
      tree: { kind: "object", at: start, entries: [entry("permission", start, text("deny", start))] },
      faults: [],
      refused: []
    },
    path
  )

/** The document in such a file, or its replacement if it is unreadable: unreadable rules must not be dropped. */
export const parseForeign = Effect.fnUntraced(function*(path: string) {
  const read = yield* Effect.either(readLenient(path))
  const isDoubtful = Either.isLeft(read) || restricts.test(read.right)
  const without = (issue: Omit<ConfigIssue, "file">): { readonly content: ConfigContent } => ({
    content: {
      ...(isDoubtful ? denying(path) : onlyIssues(path, [])),
      warnings: [{
        file: path,
        ...issue,
        message: isDoubtful
          ? `this file cannot be read: ${issue.message}; it may hold rules, so every call is denied until you fix it`
          : `this file is left out: ${issue.message}`,
        kind: "restriction"
      }]
    }
  })
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
