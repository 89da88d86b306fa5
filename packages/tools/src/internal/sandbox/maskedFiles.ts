/** Finds the files of a tree that rules do not let be read without a question: a sandboxed command does not see them. */
import * as NodeFs from "node:fs"
import { join } from "node:path"
import { attempt } from "../processes.ts"

/** Where nobody looks: packages of others, and what git keeps. */
const passed = new Set(["node_modules", ".git", ".hg", ".svn", "__pycache__", ".venv", "target"])

/** The most directories that are read, and the most files that can be hidden. */
const bounds = { directories: 5_000, files: 1_000 } as const

/** No file has this name: a rule that forbids it forbids everything in the directory. */
const anything = "\u0001"

interface Listed {
  readonly changed: number
  readonly files: ReadonlyArray<string>
  readonly directories: ReadonlyArray<string>
}

/** What is hidden in a tree. */
export interface Masked {
  readonly files: ReadonlyArray<string>
  readonly directories: ReadonlyArray<string>
  /** Whether all of the tree was looked at. */
  readonly whole: boolean
}

/** Remembers what lies in directories as long as they do not change: this happens before each command. */
export const makeMaskedFiles = (): (
  directory: string,
  readAction: (path: string) => boolean
) => Masked => {
  const known = new Map<string, Listed>()
  const list = (path: string): Listed => {
    const changed = attempt(() => NodeFs.statSync(path).mtimeMs, -1)
    const before = known.get(path)
    if (before?.changed === changed) return before
    const entries = attempt(() => NodeFs.readdirSync(path, { withFileTypes: true }), [])
    const listed = {
      changed,
      files: entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name),
      directories: entries.filter((entry) => entry.isDirectory() && !passed.has(entry.name)).map(({ name }) => name)
    }
    if (known.size > 2 * bounds.directories) known.clear()
    known.set(path, listed)
    return listed
  }
  return (directory, readAction) => {
    const files: Array<string> = []
    const directories: Array<string> = []
    let level: ReadonlyArray<string> = [""]
    let looked = 0
    while (level.length > 0) {
      const next: Array<string> = []
      for (const below of level) {
        if (++looked > bounds.directories || files.length > bounds.files) return { files, directories, whole: false }
        const found = list(join(directory, below))
        for (const name of found.files) {
          const path = `${below}${name}`
          if (!readAction(path)) files.push(join(directory, path))
        }
        for (const name of found.directories) {
          const path = `${below}${name}/`
          if (readAction(path + anything)) next.push(path)
          else directories.push(join(directory, path.slice(0, -1)))
        }
      }
      level = next
    }
    return { files, directories, whole: true }
  }
}
