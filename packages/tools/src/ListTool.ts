/** The tool `list`: shows which files there are, as a tree. */
import * as FileSystem from "@effect/platform/FileSystem"
import { define, type Tool } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { lookAsks } from "./internal/asks.ts"
import { cannot } from "./internal/refusal.ts"
import { Paths, type Target } from "./Paths.ts"
import { eachFile, lookingIn, requireDirectory, Ripgrep } from "./Ripgrep.ts"

interface Directory {
  readonly directories: Map<string, Directory>
  readonly files: Array<string>
  count: number
}

const empty = (): Directory => ({ directories: new Map(), files: [], count: 0 })

/** The maximum number of lines of a tree. */
const maximumLines = 400

const sizeOf = (directory: Directory): number => directory.directories.size + directory.files.length

/** Which directories are opened: level by level, while there is room for all their entries. */
const opened = (root: Directory): ReadonlySet<Directory> => {
  const open = new Set<Directory>([root])
  let room = maximumLines - sizeOf(root)
  for (const directory of open) {
    for (const child of directory.directories.values()) {
      if (sizeOf(child) > room) continue
      room -= sizeOf(child)
      open.add(child)
    }
  }
  return open
}

const counted = (count: number): string => `${count} ${count === 1 ? "file" : "files"}`

/** Collects paths, with `/` between their names, and draws them. */
export const fileTree = () => {
  const root = empty()
  return {
    /** Adds a file. */
    add: (path: string) => {
      const names = path.split("/")
      const file = names.pop() ?? ""
      let at = root
      at.count++
      for (const name of names) {
        const next = at.directories.get(name) ?? empty()
        at.directories.set(name, next)
        next.count++
        at = next
      }
      at.files.push(file)
    },
    /** Whether something with this name is at the top. */
    has: (name: string): boolean => root.directories.has(name) || root.files.includes(name),
    /** Draws directories first, each sorted by name. `isWhole` says whether everything is shown. */
    draw: (): { readonly text: string; readonly count: number; readonly isWhole: boolean } => {
      const open = opened(root)
      const lines: Array<string> = []
      let isWhole = true
      const drawIn = (directory: Directory, indent: string) => {
        for (const name of [...directory.directories.keys()].toSorted()) {
          const child = directory.directories.get(name) as Directory
          lines.push(`${indent}${name}/ (${counted(child.count)})`)
          if (open.has(child)) drawIn(child, `${indent}  `)
          else isWhole = false
        }
        for (const name of directory.files.toSorted()) lines.push(indent + name)
      }
      drawIn(root, "")
      if (lines.length > maximumLines) {
        isWhole = false
        lines.splice(maximumLines, Infinity, `… and ${lines.length - maximumLines} more`)
      }
      return { text: lines.join("\n"), count: root.count, isWhole }
    }
  }
}

const description =
  `Shows the files below a directory as a tree, directories first, with their numbers of files. Among many files, deep directories stay closed: list those. Skips what .gitignore names.`

const Parameters = Schema.Struct({
  path: Schema.optional(Schema.String.annotations({ description: "Directory (working directory)" }))
})

/** The parameters of `list`. */
export interface ListInput extends Schema.Schema.Type<typeof Parameters> {}

/** How many omitted names are listed. */
const maximumLeft = 20

/** Makes `list`. */
export const makeList: Effect.Effect<Tool<ListInput, Target>, never, FileSystem.FileSystem | Paths | Ripgrep> = Effect
  .gen(
    function*() {
      const fs = yield* FileSystem.FileSystem
      const paths = yield* Paths
      const ripgrep = yield* Ripgrep

      return define<ListInput, Target>({
        name: "list",
        describe: description,
        parameters: Parameters,
        effect: "safe",
        title: (input) => input.path ?? ".",
        authorise: (input, caller) =>
          Effect.map(paths.decide(input.path ?? ".", caller), (target) => ({
            asks: lookAsks("list", target, {
              pattern: target.shown,
              directory: true,
              metadata: { path: target.shown }
            }),
            plan: target
          })),
        execute: Effect.fnUntraced(function*(input, context, plan) {
          const target = yield* paths.confirm(plan, input.path ?? ".", context)
          yield* requireDirectory(fs, target)
          const tree = fileTree()
          const notes = yield* eachFile(ripgrep, target, paths.hides(target), tree.add)
          const names = yield* lookingIn(
            target,
            ({ path }) => Effect.mapError(fs.readDirectory(path), cannot("list", target.shown))
          )
          const left = names.filter((name) => !tree.has(name) && name !== ".git").toSorted()
          const { count, isWhole, text } = tree.draw()
          const output = [
            `${target.shown === "." ? target.real : target.shown} (${count} ${count === 1 ? "file" : "files"})`,
            ...(text === "" ? [] : [text]),
            ...(isWhole && left.length === 0 && notes.length === 0 ? [] : [""]),
            ...(isWhole ? [] : ["(Not all is shown: list a directory to see what is in it.)"]),
            ...(left.length === 0
              ? []
              : [
                `(Ignored, empty or links: ${left.slice(0, maximumLeft).join(", ")}${
                  left.length > maximumLeft ? ` and ${left.length - maximumLeft} more` : ""
                })`
              ]),
            ...notes
          ]
          return { title: target.shown, output: output.join("\n"), metadata: { path: target.shown, count } }
        })
      })
    }
  )
