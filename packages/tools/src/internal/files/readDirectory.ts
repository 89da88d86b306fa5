/** Lists a directory for `read`. */
import type * as FileSystem from "@effect/platform/FileSystem"
import type { ToolError, ToolResult } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Target } from "../../Paths.ts"
import { cannot } from "../refusal.ts"
import { lineWindow } from "./lineWindow.ts"
import { holdFound } from "./wholeFile.ts"

/** How many similar names an error suggests. */
const maximumSimilar = 5

/** Names similar to a path that does not exist, from its directory; none if that directory cannot be read. */
export const makeSimilarNames = (fs: FileSystem.FileSystem) => (path: string): Effect.Effect<ReadonlyArray<string>> => {
  const at = path.lastIndexOf("/")
  const name = path.slice(at + 1).toLowerCase()
  const stem = name.replace(/\.[^.]*$/, "")
  return fs.readDirectory(path.slice(0, at) || "/").pipe(
    Effect.map((names) => {
      const similar = names.filter((other) => {
        const known = other.toLowerCase()
        const knownStem = known.replace(/\.[^.]*$/, "")
        return known === name || (stem !== "" && known.includes(stem)) ||
          (knownStem.length > 2 && stem.includes(knownStem))
      })
      return similar.toSorted().slice(0, maximumSimilar)
    }),
    // This is only a hint. If the directory cannot be read, reading it reports why.
    Effect.orElseSucceed(() => [])
  )
}

/** Lists a directory: one name a line, directories first and with a slash. */
export const makeReadDirectory = (fs: FileSystem.FileSystem) =>
  Effect.fnUntraced(
    function*(target: Target, offset: number, limit: number): Effect.fn.Return<ToolResult, ToolError, Scope.Scope> {
      const { path } = yield* Effect.mapError(holdFound(target.real), cannot("list", target.shown))
      const names = yield* Effect.mapError(fs.readDirectory(path), cannot("list", target.shown))
      const isDirectory = (name: string) =>
        fs.stat(`${path}/${name}`).pipe(
          Effect.map(({ type }) => type === "Directory"),
          // A broken link is listed too.
          Effect.orElseSucceed(() => false)
        )
      const directories = new Set(yield* Effect.filter(names, isDirectory, { concurrency: 16 }))
      const sorted = names.toSorted((a, b) =>
        Number(directories.has(b)) - Number(directories.has(a)) || (a < b ? -1 : 1)
      )
      const window = lineWindow(offset, limit)
      window.feed(sorted.map((name) => (directories.has(name) ? `${name}/` : name)).join("\n"))
      const { last, text, total } = window.end()
      const rest = last < total ? ` Shown: ${offset} to ${last}; to read on, give offset ${last + 1}.` : ""
      return {
        title: target.shown,
        output: `${text}${text === "" ? "" : "\n\n"}(${target.shown} is a directory with ${total} entries.${rest})`,
        metadata: { filePath: target.shown, total }
      }
    },
    Effect.scoped
  )
