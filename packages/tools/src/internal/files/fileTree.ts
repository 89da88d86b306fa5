/** Draws a tree of files within a number of lines. Files near the top are shown before deep ones. */

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
