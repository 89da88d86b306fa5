/** Finds the files that the `instructions` of a config file name. */
import * as FileSystem from "@effect/platform/FileSystem"
import { glob } from "@skein/core/Ruleset"
import * as Effect from "effect/Effect"
import { basename, dirname, join, relative, resolve, sep } from "node:path"
import type { ConfigContent } from "./configContent.ts"
import { refusesPath } from "./projectFiles.ts"
import { record, valueAt } from "./sourced.ts"
import type { ConfigSource } from "./substitute.ts"

/** The maximum number of files of one pattern, and of directories searched for it. */
const most = { files: 100, directories: 2_000 }

/** Directories that patterns skip unless they name them. */
const skipped = new Set(["node_modules", ".git"])

/** Makes the instructions of a file absolute paths; those of a project may not lead out of it. */
export const placeInstructions = (content: ConfigContent, { home, path, project }: ConfigSource): ConfigContent => {
  const leaf = valueAt(content.tree, "leaf", ["instructions"])
  if (leaf === undefined || !Array.isArray(leaf.value)) return content
  const folder = dirname(path)
  const base = basename(folder) === ".opencode" ? dirname(folder) : folder
  const refused: Array<string> = []
  const kept = leaf.value.map(String).flatMap((name) => {
    const whole = /^~(?=\/|$)/.test(name) ? join(home, name.slice(1)) : resolve(base, name)
    const refusal = project === undefined ? undefined : refusesPath(relative(project.root, whole))
    if (refusal !== undefined) refused.push(`${JSON.stringify(name)} is ignored: ${refusal}`)
    return refusal === undefined ? [whole] : []
  })
  return {
    ...content,
    tree: record(
      [...content.tree.entries, ["instructions", { ...leaf, value: kept, joins: true }] as const],
      content.tree.origin
    ),
    warnings: [
      ...content.warnings,
      ...refused.map((message) => ({
        file: path,
        ...(leaf.origin.line === undefined ? {} : { line: leaf.origin.line }),
        key: "instructions",
        message: `instructions: ${message}`
      }))
    ]
  }
}

const hasWildcard = (name: string): boolean => /[*?]/.test(name)

/** The files of an absolute path, sorted: itself, or the matches of its wildcards (`**` matches any directories). */
export const filesOf = Effect.fnUntraced(function*(pattern: string) {
  const fs = yield* FileSystem.FileSystem
  if (!hasWildcard(pattern)) return [pattern]
  const found = new Set<string>()
  let looked = 0
  const kind = (path: string) => Effect.orElseSucceed(Effect.map(fs.stat(path), ({ type }) => type), () => "Unknown")
  const namesIn = (directory: string) =>
    Effect.suspend(() =>
      looked++ >= most.directories
        ? Effect.succeed<ReadonlyArray<string>>([])
        : Effect.orElseSucceed(fs.readDirectory(directory), () => [])
    )

  const walk = (directory: string, rest: ReadonlyArray<string>): Effect.Effect<void> =>
    Effect.gen(function*() {
      const [name, ...below] = rest
      if (name === undefined || found.size >= most.files) return
      if (name !== "**" && !hasWildcard(name)) return yield* step(join(directory, name), below)
      if (name === "**") yield* walk(directory, below)
      for (const each of (yield* namesIn(directory)).toSorted()) {
        const path = join(directory, each)
        if (name === "**") {
          if (each.startsWith(".") || skipped.has(each)) continue
          // Links are not followed here, because they may be cyclic.
          const real = yield* Effect.orElseSucceed(fs.realPath(path), () => "")
          if (real.endsWith(`${sep}${each}`) && (yield* kind(path)) === "Directory") yield* walk(path, rest)
        } else if (glob(name, each) && (name.startsWith(".") || !each.startsWith("."))) yield* step(path, below)
      }
    })

  const step = (path: string, below: ReadonlyArray<string>): Effect.Effect<void> =>
    Effect.flatMap(kind(path), (type) => {
      if (below.length > 0) return type === "Directory" ? walk(path, below) : Effect.void
      if (type === "File") found.add(path)
      return Effect.void
    })

  const [root = "", ...names] = pattern.split(sep)
  yield* walk(`${root}${sep}`, names)
  return [...found].toSorted().slice(0, most.files)
})
