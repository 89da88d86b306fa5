/** Writes files into a directory, and reports how they changed. */
import { createHash } from "node:crypto"
import * as NodeFs from "node:fs"
import * as NodePaths from "node:path"

/** The entry at a path. */
export type Entry =
  | string
  | Uint8Array
  | { readonly content: string | Uint8Array; readonly executable?: boolean }
  | { readonly link: string }

/** How a file differs from its earlier state. */
export interface Change {
  /** With `/` as the separator. */
  readonly path: string
  readonly change: "added" | "changed" | "removed"
}

/** Writes an entry at an absolute path, with the directories above it; a path that ends with `/` is a directory. */
export const put = (file: string, entry: Entry): void => {
  if (file.endsWith("/")) {
    NodeFs.mkdirSync(file, { recursive: true })
    return
  }
  NodeFs.mkdirSync(NodePaths.dirname(file), { recursive: true })
  // The existing entry may be a link, and writing would follow it.
  NodeFs.rmSync(file, { force: true })
  if (typeof entry === "object" && "link" in entry) {
    NodeFs.symlinkSync(entry.link, file)
    return
  }
  const { content, executable } = typeof entry === "string" || entry instanceof Uint8Array
    ? { content: entry, executable: false }
    : entry
  NodeFs.writeFileSync(file, content)
  if (executable === true) NodeFs.chmodSync(file, 0o755)
}

/** The state of each file, by its path. */
export type Snapshot = ReadonlyMap<string, string>

const printOf = (file: string): string => {
  const stat = NodeFs.lstatSync(file)
  if (stat.isSymbolicLink()) return `link ${NodeFs.readlinkSync(file)}`
  // Reading others, such as pipes, may never end.
  if (!stat.isFile()) return "special"
  const hash = createHash("sha256").update(NodeFs.readFileSync(file)).digest("hex")
  return `${(stat.mode & 0o111) === 0 ? "file" : "program"} ${hash}`
}

/** Reads the state of all files below a directory, except those of git, without following links. */
export const snapshot = (directory: string): Snapshot => {
  const found = new Map<string, string>()
  const visit = (below: string): void => {
    for (const entry of NodeFs.readdirSync(NodePaths.join(directory, below), { withFileTypes: true })) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`
      if (path === ".git") continue
      if (entry.isDirectory()) visit(path)
      else found.set(path, printOf(NodePaths.join(directory, path)))
    }
  }
  visit("")
  return found
}

/** How the files changed between two snapshots, sorted by path. */
export const changesBetween = (before: Snapshot, after: Snapshot): ReadonlyArray<Change> =>
  [...new Set([...before.keys(), ...after.keys()])].toSorted().flatMap((path): ReadonlyArray<Change> => {
    const [was, is] = [before.get(path), after.get(path)]
    if (was === is) return []
    return [{ path, change: was === undefined ? "added" : is === undefined ? "removed" : "changed" }]
  })
