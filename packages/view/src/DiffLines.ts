/** Parses a diff into numbered lines. */

/** A line of a change. */
export interface DiffLine {
  readonly kind: "added" | "removed" | "same" | "file" | "gap"
  readonly text: string
  /** Its number in the old and the new file, if known. */
  readonly before?: number
  readonly after?: number
}

const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/

const firstOf = (start: string | undefined, count: string | undefined): number =>
  Number(start) + (count === "0" ? 1 : 0)

interface Numbers {
  before: number
  after: number
}

const lineOf = (line: string, numbers: Numbers | undefined): DiffLine => {
  const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same"
  const text = line.slice(1)
  if (numbers === undefined) return { kind, text: kind === "same" && !line.startsWith(" ") ? line : text }
  return {
    kind,
    text,
    ...(kind === "added" ? {} : { before: numbers.before++ }),
    ...(kind === "removed" ? {} : { after: numbers.after++ })
  }
}

/** The lines of a diff in the format of `diff -u`, or of one without `@@`, which has no numbers. */
export const diffLines = (diff: string): ReadonlyArray<DiffLine> => {
  const found: Array<DiffLine> = []
  let numbers: Numbers | undefined
  for (const line of diff === "" ? [] : diff.split("\n")) {
    const head = hunk.exec(line)
    if (head !== null) {
      if (numbers !== undefined) found.push({ kind: "gap", text: "" })
      numbers = { before: firstOf(head[1], head[2]), after: firstOf(head[3], head[4]) }
    } else if (line.startsWith("+++ ")) {
      numbers = undefined
      found.push({ kind: "file", text: line.slice(4) })
    } else if (!line.startsWith("--- ")) found.push(lineOf(line, numbers))
  }
  return found
}
