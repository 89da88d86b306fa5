/** Finds Markdown files below a directory. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import { basename, join, relative, sep } from "node:path"
import type { ConfigIssue } from "../ConfigError.ts"
import { reason } from "./readText.ts"

/**
 * The Markdown files below a directory, by name. Each directory is read once, under its real name, so that cyclic links
 * end.
 */
export const listMarkdown = Effect.fnUntraced(function*(
  top: string,
  { deep, issues, seen, what }: {
    /** Whether nested directories count, with the path as a part of the name. */
    readonly deep: boolean
    /** What such a file defines. */
    readonly what: string
    /** The directories that were read before. */
    readonly seen: Set<string>
    /** Receives what cannot be read. */
    readonly issues: Array<ConfigIssue>
  }
) {
  const fs = yield* FileSystem.FileSystem
  const found: Array<{ readonly path: string; readonly name: string }> = []
  const links: Array<string> = []
  const kind = (path: string) =>
    Effect.orElseSucceed(Effect.map(fs.stat(path), ({ type }) => type), () => "File" as const)

  const walk = (directory: string, name: string): Effect.Effect<void, never, never> =>
    Effect.gen(function*() {
      const real = yield* Effect.orElseSucceed(fs.realPath(directory), () => directory)
      if (seen.has(real)) return
      seen.add(real)
      const names = yield* Effect.catchAll(fs.readDirectory(directory), (error) => {
        issues.push({ file: directory, message: `cannot be listed: ${reason(error)}` })
        return Effect.succeed<Array<string>>([])
      })
      for (const each of names.toSorted()) {
        if (each.startsWith(".")) continue
        const path = join(directory, each)
        // A directory with such a name is a mistake, which reading it will report.
        if (each.endsWith(".md")) found.push({ path, name: `${name}${basename(each, ".md")}` })
        else if (deep && (yield* kind(path)) === "Directory") {
          const target = yield* Effect.orElseSucceed(fs.realPath(path), () => path)
          if (target === join(real, each)) yield* walk(path, `${name}${each}/`)
          else links.push(path)
        }
      }
    })

  if ((yield* kind(top)) !== "Directory") {
    issues.push({ file: top, message: `this must be a directory, with a file for each ${what}` })
    return found
  }
  yield* walk(top, "")
  for (let link = links.shift(); link !== undefined; link = links.shift()) {
    yield* walk(link, `${relative(top, link).split(sep).join("/")}/`)
  }
  return found
})
