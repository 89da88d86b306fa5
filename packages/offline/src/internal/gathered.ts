/** Collects files, counts and lines from the results of calls. */
import type { Call } from "./conversation.ts"
import { patterns } from "./facts/facts.ts"
import { byText, isIgnored } from "./language.ts"
import {
  isCut,
  readCounts,
  readMatches,
  readNumbered,
  readPaths,
  readTree,
  type SourceLine,
  unreadable
} from "./outputs.ts"

/** The collected results of calls. */
export interface Gathered {
  /** Sorted. */
  readonly files: ReadonlyArray<string>
  readonly lines: ReadonlyMap<string, number>
  readonly exports: ReadonlyMap<string, number>
  /** Lines that were seen, by file and in order. */
  readonly sources: ReadonlyMap<string, ReadonlyArray<SourceLine>>
  /** Lines that were read from the beginning of a file. */
  readonly reads: ReadonlyMap<string, ReadonlyArray<SourceLine>>
  readonly notes: ReadonlyArray<string>
  /** Whether lines, and whether exports, were counted at all. */
  readonly counted: { readonly lines: boolean; readonly exports: boolean }
}

const inputText = (call: Call, ...names: ReadonlyArray<string>): string | undefined =>
  names.map((name) => call.input[name]).find((value): value is string => typeof value === "string")

const describe = (call: Call): string => {
  const where = inputText(call, "filePath", "path")
  return `${call.name}${where === undefined ? "" : ` of ${where}`}`
}

/** Collects the results of calls. */
export const gather = (calls: ReadonlyArray<Call>, directory: string, named: ReadonlyArray<string>): Gathered => {
  const files = new Set(named)
  const lines = new Map<string, number>()
  const exports = new Map<string, number>()
  const reads = new Map<string, ReadonlyArray<SourceLine>>()
  const notes = new Set<string>()
  const good = calls.flatMap((call) => {
    if (call.output === undefined) return []
    if (call.output.failed && call.name !== "task") {
      notes.add(`${describe(call)} failed: ${call.output.text.split("\n")[0] ?? ""}`)
      return []
    }
    for (const note of unreadable(call.output.text)) notes.add(note)
    return [{ call, text: call.output.text }]
  })
  const globs = good.some(({ call }) => call.name === "glob")
  const counted = (pattern: string): boolean =>
    good.some(({ call }) => call.input["mode"] === "count" && call.input["pattern"] === pattern)
  for (const { call, text } of good) {
    if (call.name === "glob") { for (const path of readPaths(text, directory)) files.add(path) }
    if (call.name === "list" && !globs) { for (const path of readTree(text, directory).files) files.add(path) }
    if (call.name === "grep" && call.input["mode"] === "count") {
      const counts = call.input["pattern"] === patterns.anyLine
        ? lines
        : call.input["pattern"] === patterns.exports
        ? exports
        : undefined
      for (const [path, count] of readCounts(text, directory)) {
        files.add(path)
        counts?.set(path, count)
      }
    }
    const path = call.name === "read" ? inputText(call, "filePath", "path")?.replace(/^\.\//, "") : undefined
    if (path !== undefined) {
      const { lines: content, total } = readNumbered(text, path)
      files.add(path)
      reads.set(path, content)
      const whole = total ?? (call.input["limit"] === undefined && !isCut(text) ? content.at(-1)?.line ?? 0 : undefined)
      if (whole !== undefined && !lines.has(path)) lines.set(path, whole)
    }
  }
  const known = (path: string): boolean => files.has(path)
  const pool = new Map<string, Map<number, SourceLine>>()
  const put = (at: SourceLine): void => {
    pool.set(at.path, (pool.get(at.path) ?? new Map<number, SourceLine>()).set(at.line, at))
  }
  for (const { call, text } of good) {
    if (call.name !== "grep" || call.input["mode"] === "count") continue
    for (const at of readMatches(text, directory, known)) put(at)
  }
  for (const content of reads.values()) for (const at of content) put(at)
  return {
    files: [...files].filter((file) => !isIgnored(file)).toSorted(),
    lines,
    exports,
    sources: new Map(
      [...pool].filter(([path]) => !isIgnored(path)).toSorted(([a], [b]) => byText(a, b))
        .map(([path, seen]) => [path, [...seen.values()].toSorted((a, b) => a.line - b.line)])
    ),
    reads,
    notes: [...notes],
    counted: {
      lines: counted(patterns.anyLine),
      exports: counted(patterns.exports)
    }
  }
}
