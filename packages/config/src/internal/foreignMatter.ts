/** Splits a Markdown file of another tool as its owner does: invalid YAML front matter is read line by line. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { text } from "./foreign.ts"
import type { Fault, Located, LocatedEntry } from "./located.ts"
import type { parseYaml } from "./locatedYaml.ts"

/** The two parts of such a file. */
export interface ForeignMatter {
  readonly entries: ReadonlyArray<LocatedEntry>
  readonly hasFront: boolean
  readonly body: string
  /** The first line of the body. */
  readonly line: number
  readonly notes: ReadonlyArray<Fault>
}

interface Parts {
  readonly front: string
  readonly body: string
  /** The number of lines above the front matter, and above the body. */
  readonly above: number
  readonly lines: number
  readonly isOpen: boolean
}

const start = { line: 1, column: 1 }

const countLines = (part: string): number => part.split("\n").length - 1

/** Front matter ends with its second line of `---`; if there is none, before the first empty line or heading. */
const split = (whole: string): Parts | undefined => {
  const open = /^\s*---[ \t]*(?:\n|$)/.exec(whole)?.[0]
  if (open === undefined) return undefined
  const rest = whole.slice(open.length)
  const close = /^---[ \t]*(?:\n|$)/m.exec(rest)
  const end = close ?? /^(?:[ \t]*\n|#)/m.exec(rest)
  const front = end === null ? rest : rest.slice(0, end.index)
  const body = end === null ? "" : close === null ? rest.slice(end.index) : rest.slice(end.index + end[0].length)
  return {
    front,
    body,
    above: countLines(open),
    lines: countLines(whole.slice(0, whole.length - body.length)),
    isOpen: close === null
  }
}

/** Reads such a file. */
export const readMatter = (whole: string): Effect.Effect<ForeignMatter> => {
  const parts = split(whole)
  if (parts === undefined) return Effect.succeed({ entries: [], hasFront: false, body: whole, line: 1, notes: [] })
  const { above, body, front, isOpen, lines } = parts
  const note: ReadonlyArray<Fault> = isOpen
    ? [{ at: start, message: "the front matter does not end with a line of ---; what looks like it was read" }]
    : []
  const base = { hasFront: true, body, line: lines + 1 }
  if (front.trim() === "") return Effect.succeed({ ...base, entries: [], notes: note })
  return Effect.map(Effect.promise(() => import("./locatedYaml.ts")), ({ parseYaml }) => {
    const parse = guarded(parseYaml)
    const { faults, tree } = parse(front, above)
    if (faults.length === 0 && tree.kind === "object") return { ...base, entries: tree.entries, notes: note }
    return { ...base, entries: byLines(front, above, parse), notes: note }
  })
}

type Parse = typeof parseYaml

/** Treats a document that is nested too deeply for the parser as invalid. */
const guarded = (parse: Parse): Parse => (document, above) =>
  Either.getOrElse(Either.try(() => parse(document, above)), () => ({
    tree: { kind: "null", at: start, value: null },
    faults: [{ at: start, message: "the front matter is nested too deeply" }]
  }))

/**
 * Reads keys line by line: a line `key: value` at the margin starts a key, and everything else continues the previous
 * one. Each value is read as YAML if possible, else as text. All values of a repeated key are kept, for the reader to
 * choose.
 */
const byLines = (front: string, above: number, parse: Parse): ReadonlyArray<LocatedEntry> => {
  const blocks: Array<{ readonly key: string; readonly line: number; readonly lines: Array<string> }> = []
  for (const [index, line] of front.replace(/\n$/, "").split("\n").entries()) {
    const [, key] = /^(["']?[\p{L}_$][\p{L}\p{N}_ .$/-]{0,60}["']?)[ \t]*:(?=\s|$)/u.exec(line) ?? []
    const last = blocks.at(-1)
    if (key !== undefined) {
      blocks.push({ key: key.replaceAll(/["']/g, "").trim(), line: above + index + 1, lines: [line] })
    } else if (last !== undefined && !line.startsWith("#")) last.lines.push(line)
  }
  return blocks.map(({ key, line, lines }): LocatedEntry => {
    const at = { line, column: 1 }
    for (const written of [lines.join("\n"), lines.join("\n").replaceAll("\t", "  ")]) {
      const { faults, tree } = parse(written, line - 1)
      const only = faults.length === 0 && tree.kind === "object" && tree.entries.length === 1
        ? tree.entries[0]
        : undefined
      if (only !== undefined) return { ...only, key }
    }
    return { key, at, value: asText(lines, at) }
  })
}

/** The value of a key as text, without quotes around it and without a block indicator. */
const asText = (lines: ReadonlyArray<string>, at: Located["at"]): Located => {
  const [first = "", ...rest] = lines
  const head = first.slice(first.indexOf(":") + 1).trim().replace(/^[>|][+-]?$/, "")
  const value = [...(head === "" ? [] : [head]), ...rest.map((line) => line.trim())].join("\n").trim()
  return text(value.replace(/^(["'])([^]*)\1$/, "$2"), at)
}
