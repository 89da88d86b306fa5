/** Compares two texts line by line, to show the change of a file to the person who is asked for permission. */
import { head } from "../files/lineWindow.ts"

/** How many lines and characters of a change are shown. */
const maximum = { lines: 200, characters: 10_000 }

const signed = (sign: string, text: string): ReadonlyArray<string> =>
  text === "" ? [] : text.replace(/\n$/, "").split("\n", maximum.lines + 1).map((line) => sign + line)

/** The removed and the added lines, truncated if there are many. */
export const preview = (removed: string, added: string): string =>
  bounded([...signed("-", removed), ...signed("+", added)])

/** A text for people, truncated if it is long. */
export const bounded = (lines: ReadonlyArray<string>): string => {
  const text = lines.slice(0, maximum.lines).join("\n")
  const shown = head(text, maximum.characters)
  return shown.length < text.length || lines.length > maximum.lines ? `${shown}\n… (more is not shown)` : shown
}

/** The change of a file. */
export interface FileDiff {
  /** In the format of `diff -u`, from the first `@@` on; truncated if it is long. */
  readonly diff: string
  readonly added: number
  readonly removed: number
}

/** How many lines of context are shown. */
const context = 3

/** The maximum number of compared pairs of lines. A larger change is shown as one replacement. */
const maximumPairs = 250_000

/** The maximum size of a compared file, in bytes. */
const maximumBytes = 2 * 1024 * 1024

type Line = readonly [sign: " " | "+" | "-", text: string]

const linesOf = (text: string): ReadonlyArray<string> =>
  text === "" ? [] : (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n")

/** The longest common subsequence of the changed region, as kept, removed and added lines. */
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

/** Compares the old and the new contents of a file; undefined if they are too large, or not text. */
export const fileDiff = (before: Uint8Array | undefined, after: Uint8Array | undefined): FileDiff | undefined => {
  const [old = new Uint8Array(), now = new Uint8Array()] = [before, after]
  if (old.length + now.length > maximumBytes || old.includes(0) || now.includes(0)) return undefined
  const lines = aligned(linesOf(Buffer.from(old).toString("utf8")), linesOf(Buffer.from(now).toString("utf8")))
  const count = (counted: string) => lines.filter(([sign]) => sign === counted).length
  return { diff: bounded(hunks(lines)), added: count("+"), removed: count("-") }
}

/** The same for several files, each after its name. */
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
