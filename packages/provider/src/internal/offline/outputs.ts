/** Decides how the text of each tool is read. Tolerant: layouts differ, and what cannot be read is passed over. */

/** A line of a file. */
export interface SourceLine {
  readonly path: string
  readonly line: number
  readonly text: string
}

const note = /^\s*(\[.*\]|\(.*\))\s*$/
const cutNote = /\b(cut|truncated|more|limit|only|first|omitted|narrow)/i

/** The notes at the end of an output, in brackets. */
const notesOf = (output: string): ReadonlyArray<string> => {
  const last = output.slice(-1_000).trimEnd().split("\n").slice(-4)
  return last.slice(last.findLastIndex((line) => !note.test(line)) + 1)
}

/** Whether an output says at its end that it is not all there is. */
export const isCut = (output: string): boolean => notesOf(output).some((line) => cutNote.test(line))

/** A path as the survey writes it: relative to the working directory, with `/`. */
const relative = (path: string, directory: string): string => {
  const plain = path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : path
  return plain.startsWith("./") ? plain.slice(2) : plain
}

const looksLikeProse = (line: string): boolean => /^(no (files|matches)|found \d+)/i.test(line)

/** The paths in the output of glob. */
export const readPaths = (output: string, directory: string): ReadonlyArray<string> =>
  output.split("\n").flatMap((line) => {
    const path = line.trimEnd()
    return path === "" || note.test(path) || looksLikeProse(path) ? [] : [relative(path, directory)]
  })

/** The files and folders in the output of list: an indented tree with `/` after folders, or flat paths. */
export const readTree = (
  output: string,
  directory: string
): { readonly files: ReadonlyArray<string>; readonly folders: ReadonlyArray<string> } => {
  const files: Array<string> = []
  const folders: Array<string> = []
  const open: Array<{ readonly indent: number; readonly path: string }> = []
  for (const raw of output.split("\n")) {
    const line = raw.trimEnd()
    if (line === "" || note.test(line) || looksLikeProse(line)) continue
    const name = line.replace(/^[\s│├└─]*(- )?/, "")
    const indent = line.length - name.length
    while ((open.at(-1)?.indent ?? -1) >= indent) open.pop()
    const top = indent === 0 && (name.startsWith("/") || name === "./")
    const path = top ? "" : `${open.at(-1)?.path ?? ""}${relative(name, directory)}`
    if (!name.endsWith("/")) files.push(path)
    else {
      open.push({ indent, path })
      if (path !== "") folders.push(path.slice(0, -1))
    }
  }
  return { files, folders }
}

/** The counts in the output of grep in mode `count`. */
export const readCounts = (output: string, directory: string): ReadonlyArray<readonly [path: string, count: number]> =>
  output.split("\n").flatMap((line) => {
    const match = /^(.+):\s*(\d+)\s*$/.exec(line)
    return match === null ? [] : [[relative(match[1] ?? "", directory), Number(match[2])] as const]
  })

/** The lines in the output of grep: `path:line: text`, or a path with `line: text` below it. */
export const readMatches = (
  output: string,
  directory: string,
  known: (path: string) => boolean
): ReadonlyArray<SourceLine> => {
  let heading = ""
  return output.split("\n").flatMap((raw): ReadonlyArray<SourceLine> => {
    if (raw.trim() === "" || note.test(raw)) return []
    const below = /^\s*(?:Line )?(\d+)[:\t] ?(.*)$/.exec(raw)
    if (below !== null && heading !== "") return [{ path: heading, line: Number(below[1]), text: below[2] ?? "" }]
    // A path may itself hold `:12:`, so that the first split that gives a known file is the right one.
    const splits = [...raw.matchAll(/:(\d+):/g)].map((match) => ({
      path: relative(raw.slice(0, match.index), directory),
      line: Number(match[1]),
      text: raw.slice(match.index + match[0].length).replace(/^ /, "")
    }))
    const right = splits.find(({ path }) => known(path)) ?? splits[0]
    if (right !== undefined) {
      heading = ""
      return [right]
    }
    const path = relative(raw.trimEnd().replace(/:$/, ""), directory)
    if (known(path)) heading = path
    return []
  })
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
  const told = notesOf(output).map((line) => /\b(?:of|total:?) (\d+)|\b(\d+) lines in all/i.exec(line)).find((match) =>
    match !== null
  )
  return { lines, total: told === undefined ? undefined : Number(told[1] ?? told[2]) }
}

/** What came back from a subagent. */
export interface TaskAnswer {
  /** `completed`, another outcome, `background`, or `refused` where no subagent started. */
  readonly state: string
  /** Why it did not complete; empty where it did. */
  readonly reason: string
  /** Its conclusion, or what there was of one. */
  readonly text: string
}

const unescape = (text: string): string =>
  text.replace(/&lt;(?=\/?(task_result|task_error|task-notification|task_metadata))/gi, "<")

const block = (output: string, tag: string): string => {
  const begin = output.indexOf(`<${tag}>`)
  const end = output.indexOf(`</${tag}>`, begin)
  return begin < 0 || end < 0 ? "" : unescape(output.slice(begin + tag.length + 2, end)).trim()
}

/** Reads the result of a task call. */
export const readTask = (output: string, failed: boolean): TaskAnswer => {
  const head = output.slice(0, Math.max(0, output.search(/<task_(result|error)>/)))
  const state = /^state: (\S+)/m.exec(head)?.[1]
  const text = block(output, "task_result")
  if (output.startsWith("Background task accepted")) {
    return { state: "background", reason: "it was moved to the background and had not settled yet", text: "" }
  }
  if (!failed && state === undefined) {
    return text === "" && !output.includes("<task_result>")
      ? { state: "completed", reason: "", text: output.trim() }
      : { state: "completed", reason: "", text }
  }
  const reason = block(output, "task_error") ||
    (output.split("\n").find((line) => line.trim() !== "") ?? "no reason given")
  return { state: state ?? "refused", reason: reason.replace(/\s+/g, " "), text }
}
