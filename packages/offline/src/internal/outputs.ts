/** Parses the output of file tools. Layouts differ, so it skips what it cannot parse. */

/** A line of a file. */
export interface SourceLine {
  readonly path: string
  readonly line: number
  readonly text: string
}

/** A place with a statement about it. */
export interface Fact extends SourceLine {}

const note = /^\s*(\[.*\]|\(.*\))\s*$/
const cutNote = /\b(cut|truncated|more|limit|only|first|omitted|narrow)/i

/** The notes at the end of an output, in brackets. */
const notesOf = (output: string): ReadonlyArray<string> => {
  const last = output.slice(-1_000).trimEnd().split("\n").slice(-4)
  return last.slice(last.findLastIndex((line) => !note.test(line)) + 1)
}

/** The notes at the end of an output about what could not be read. */
export const unreadable = (output: string): ReadonlyArray<string> =>
  notesOf(output).filter((line) => /not everything could be read|could not be read/i.test(line)).map((line) =>
    line.trim().slice(1, -1)
  )

/** Whether a note at the end of an output says that it is truncated. */
export const isCut = (output: string): boolean => notesOf(output).some((line) => cutNote.test(line))

/** A path as the survey writes it: relative to the working directory, with `/`. */
const relative = (path: string, directory: string): string => {
  const plain = path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : path
  return plain.startsWith("./") ? plain.slice(2) : plain
}

const looksLikeProse = (line: string): boolean => /^(no (files|matches)\b|nothing fits |found \d+)/i.test(line)

/** The paths in the output of glob. */
export const readPaths = (output: string, directory: string): ReadonlyArray<string> =>
  output.split("\n").flatMap((line) => {
    const path = line.trimEnd()
    return path === "" || note.test(path) || looksLikeProse(path) ? [] : [relative(path, directory)]
  })

/** What list shows. */
export interface Tree {
  readonly files: ReadonlyArray<string>
  readonly folders: ReadonlyArray<string>
  /** Folders that hold files and were not opened. */
  readonly closed: ReadonlyArray<string>
}

/** Reads the output of list: an indented tree with `/` after folders and perhaps their numbers of files, or flat paths. */
export const readTree = (output: string, directory: string): Tree => {
  const files: Array<string> = []
  const folders: Array<string> = []
  const open: Array<{ readonly indent: number; readonly path: string }> = []
  const heading = /^(.*[^/]) \(\d+ files?\)$/.exec(output.split("\n", 1)[0] ?? "")?.[1]
  const top = heading === undefined || heading === directory || heading === "."
    ? ""
    : `${relative(heading, directory)}/`
  for (const raw of output.split("\n").slice(heading === undefined ? 0 : 1)) {
    const line = raw.trimEnd().replace(/\/ \(\d+ files?\)$/, "/")
    if (line === "" || note.test(line) || looksLikeProse(line) || line.trimStart().startsWith("…")) continue
    const name = line.replace(/^[\s│├└─]*(- )?/, "")
    const indent = line.length - name.length
    while ((open.at(-1)?.indent ?? -1) >= indent) open.pop()
    const isTop = indent === 0 && (name.startsWith("/") || name === "./")
    const path = isTop ? top : `${open.at(-1)?.path ?? top}${relative(name, directory)}`
    if (!name.endsWith("/")) files.push(path)
    else {
      open.push({ indent, path })
      if (path !== "") folders.push(path.slice(0, -1))
    }
  }
  const closed = folders.filter((folder) => ![...files, ...folders].some((path) => path.startsWith(`${folder}/`)))
  return { files, folders, closed }
}

/** The counts in the output of grep in mode `count`. */
export const readCounts = (output: string, directory: string): ReadonlyArray<readonly [path: string, count: number]> =>
  output.split("\n").flatMap((line) => {
    const match = /^(.+):\s*(\d+)\s*$/.exec(line)
    return match === null ? [] : [[relative(match[1] ?? "", directory), Number(match[2])] as const]
  })

/** The first split of `path:line:text` that gives a known file: a path may itself hold `:12:`. */
const splitMatch = (raw: string, directory: string, known: (path: string) => boolean): SourceLine | undefined => {
  const number = /:(\d+):/g
  let first: SourceLine | undefined
  for (let match = number.exec(raw); match !== null; match = number.exec(raw)) {
    const text = raw.slice(number.lastIndex)
    const split = {
      path: relative(raw.slice(0, match.index), directory),
      line: Number(match[1]),
      text: text.startsWith(" ") ? text.slice(1) : text
    }
    if (known(split.path)) return split
    first ??= split
    // The colon that ends one split may begin the next.
    number.lastIndex--
  }
  return first
}

/** The lines in the output of grep: `path:line: text`, or a path with `line: text` below it. */
export const readMatches = (
  output: string,
  directory: string,
  known: (path: string) => boolean
): ReadonlyArray<SourceLine> => {
  const found: Array<SourceLine> = []
  let heading = ""
  for (const raw of output.split("\n")) {
    if (raw.trim() === "" || note.test(raw)) continue
    const below = heading === "" ? null : /^\s*(?:Line )?(\d+)[:\t] ?(.*)$/.exec(raw)
    if (below !== null) {
      found.push({ path: heading, line: Number(below[1]), text: below[2] ?? "" })
      continue
    }
    const path = raw.endsWith(":") ? relative(raw.slice(0, -1), directory) : relative(raw, directory)
    heading = known(path) ? path : ""
    const split = heading === "" ? splitMatch(raw, directory, known) : undefined
    if (split !== undefined) found.push(split)
  }
  return found
}

/** The lines in the output of read, and how many the file has where the output tells. */
export const readNumbered = (
  output: string,
  path: string
): { readonly lines: ReadonlyArray<SourceLine>; readonly total: number | undefined } => {
  const lines = output.split("\n").flatMap((raw): ReadonlyArray<SourceLine> => {
    const match = /^\s*(\d+)(?:\t|\| |→|: )(.*)$/.exec(raw)
    return match === null ? [] : [{ path, line: Number(match[1]), text: match[2] ?? "" }]
  })
  const count = notesOf(output).map((line) => /\b(?:of|total:?) (\d+)|\b(\d+) lines in all/i.exec(line)).find((match) =>
    match !== null
  )
  return { lines, total: count === undefined ? undefined : Number(count[1] ?? count[2]) }
}
