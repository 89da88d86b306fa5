/** Compares two texts line by line: what a person is shown of a change of a file. */
import { bounded } from "./preview.ts"

/** How a file changed. */
export interface FileDiff {
  /** As `diff -u` has it, from the first `@@` on; cut where it is long. */
  readonly diff: string
  readonly added: number
  readonly removed: number
}

/** How many lines around a change are shown. */
const context = 3

/** The most pairs of lines that are compared; a larger change is shown as one that replaces all. */
const maximumPairs = 250_000

/** The most bytes of a file that is compared. */
const maximumBytes = 2 * 1024 * 1024

type Line = readonly [sign: " " | "+" | "-", text: string]

const linesOf = (text: string): ReadonlyArray<string> =>
  text === "" ? [] : (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n")

/** The longest common subsequence of what differs, as lines that stay, go and come. */
const compare = (before: ReadonlyArray<string>, after: ReadonlyArray<string>): ReadonlyArray<Line> => {
  const replaced: ReadonlyArray<Line> = [
    ...before.map((line): Line => ["-", line]),
    ...after.map((line): Line => ["+", line])
  ]
  if (before.length * after.length > maximumPairs) return replaced
  const width = after.length + 1
  const lengths = new Uint32Array((before.length + 1) * width)
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      lengths[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const lines: Array<Line> = []
  let i = 0
  let j = 0
  while (i < before.length || j < after.length) {
    const old = before[i]
    const next = after[j]
    if (old !== undefined && old === next) {
      lines.push([" ", old])
      i++
      j++
    } else if (old !== undefined && (next === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(["-", old])
      i++
    } else if (next !== undefined) {
      lines.push(["+", next])
      j++
    }
  }
  return lines
}

/** All lines of both texts. */
const aligned = (before: ReadonlyArray<string>, after: ReadonlyArray<string>): ReadonlyArray<Line> => {
  let first = 0
  while (first < before.length && first < after.length && before[first] === after[first]) first++
  let last = 0
  while (
    last < before.length - first && last < after.length - first &&
    before[before.length - 1 - last] === after[after.length - 1 - last]
  ) last++
  const same = (line: string): Line => [" ", line]
  return [
    ...before.slice(0, first).map(same),
    ...compare(before.slice(first, before.length - last), after.slice(first, after.length - last)),
    ...before.slice(before.length - last).map(same)
  ]
}

const hunks = (lines: ReadonlyArray<Line>): ReadonlyArray<string> => {
  const shown = new Set<number>()
  lines.forEach(([sign], at) => {
    if (sign === " ") return
    for (let i = Math.max(0, at - context); i <= Math.min(lines.length - 1, at + context); i++) shown.add(i)
  })
  const out: Array<string> = []
  let hunk: Array<string> = []
  let old = 0
  let now = 0
  let from = { old: 0, now: 0 }
  const close = () => {
    if (hunk.length === 0) return
    const count = (sign: string) => hunk.filter((line) => line.startsWith(" ") || line.startsWith(sign)).length
    const [removed, added] = [count("-"), count("+")]
    // An empty side begins at the line before it.
    out.push(
      `@@ -${from.old - (removed === 0 ? 1 : 0)},${removed} +${from.now - (added === 0 ? 1 : 0)},${added} @@`,
      ...hunk
    )
    hunk = []
  }
  lines.forEach(([sign, text], at) => {
    if (sign !== "+") old++
    if (sign !== "-") now++
    if (!shown.has(at)) return close()
    if (hunk.length === 0) from = { old: sign === "+" ? old + 1 : old, now: sign === "-" ? now + 1 : now }
    hunk.push(sign + text)
  })
  close()
  return out
}

/** Compares what a file held with what it holds; gives nothing where it is too large, or no text. */
export const fileDiff = (before: Uint8Array | undefined, after: Uint8Array | undefined): FileDiff | undefined => {
  const [old = new Uint8Array(), now = new Uint8Array()] = [before, after]
  if (old.length + now.length > maximumBytes || old.includes(0) || now.includes(0)) return undefined
  const lines = aligned(linesOf(Buffer.from(old).toString("utf8")), linesOf(Buffer.from(now).toString("utf8")))
  const count = (counted: string) => lines.filter(([sign]) => sign === counted).length
  return { diff: bounded(hunks(lines)), added: count("+"), removed: count("-") }
}

/** The same of several files, each behind its name. */
export const filesDiff = (
  files: ReadonlyArray<readonly [name: string, before: Uint8Array | undefined, after: Uint8Array | undefined]>
): FileDiff | undefined => {
  const each = files.flatMap(([name, before, after]) => {
    const compared = fileDiff(before, after)
    return compared === undefined ? [] : [{ name, ...compared }]
  })
  return each.length === 0 ? undefined : {
    diff: bounded(each.flatMap(({ diff, name }) => [`+++ ${name}`, ...diff.split("\n")])),
    added: each.reduce((sum, { added }) => sum + added, 0),
    removed: each.reduce((sum, { removed }) => sum + removed, 0)
  }
}
