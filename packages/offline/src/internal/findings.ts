/** Gathers what the calls of a part returned, and concludes what its report says. */
import { type Brief, fit } from "./brief.ts"
import {
  entriesOf,
  type Import,
  importsOf,
  type Manifest,
  manifestFolder,
  patterns,
  readDocComment,
  readIntroduction,
  readManifest,
  todosOf
} from "./facts.ts"
import { baseName, byText, folderOf, isCode, isGenerated, isIgnored, isTest, languageOf } from "./language.ts"
import { ownerIndex, targetIndex } from "./modules.ts"
import type { Edge, Match, ModuleFacts, Name, PartReport } from "./partReport.ts"
import {
  type Call,
  type Fact,
  isCut,
  readCounts,
  readMatches,
  readNumbered,
  readPaths,
  readTree,
  type SourceLine,
  unreadable
} from "./toolbox.ts"

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

const sum = (files: ReadonlyArray<string>, counts: ReadonlyMap<string, number>): number =>
  files.reduce((total, file) => total + (counts.get(file) ?? 0), 0)

const tally = (names: ReadonlyArray<string>): ReadonlyArray<readonly [string, number]> => {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].toSorted((a, b) => b[1] - a[1] || byText(a[0], b[0]))
}

const factsOf = (path: string, files: ReadonlyArray<string>, found: Gathered): ModuleFacts => {
  const written = files.filter((file) => !isGenerated(file))
  return {
    path,
    files: files.length,
    lines: found.counted.lines || written.every((file) => found.lines.has(file))
      ? sum(written, found.lines)
      : undefined,
    exports: found.counted.exports
      ? sum(written.filter((file) => isCode(file) && !isTest(file)), found.exports)
      : undefined,
    languages: tally(files.map(languageOf))
  }
}

const largestOf = (all: ReadonlyArray<string>, lines: ReadonlyMap<string, number>): ReadonlyArray<Fact> => {
  const files = all.filter((file) => !isGenerated(file) && lines.has(file))
  const code = files.filter(isCode)
  const own = code.filter((file) => !isTest(file))
  return [own, code, files].find((each) => each.length > 0)?.toSorted((a, b) =>
    (lines.get(b) ?? 0) - (lines.get(a) ?? 0) || byText(a, b)
  ).slice(0, 4)
    .map((path) => ({ path, line: 1, text: `${lines.get(path)} lines` })) ?? []
}

/** The purpose of a module, from its manifest, else its README, else the first comment of its first file. */
const purposeOf = (
  path: string,
  files: ReadonlyArray<string>,
  found: Gathered,
  manifests: ReadonlyArray<Manifest>
): Fact | undefined => {
  const described = manifests.find((manifest) => manifestFolder(manifest.path) === path)?.description
  if (described !== undefined) return described
  const readme = files.find((file) =>
    found.reads.has(file) && /^readme/i.test(baseName(file)) && `${folderOf(file)}/` === path
  )
  const introduced = readme === undefined ? undefined : readIntroduction(found.reads.get(readme) ?? []).text
  if (introduced !== undefined) return introduced
  const commented = files.filter((file) =>
    isCode(file) && !isTest(file) && baseName(file) !== "setup.py" && found.reads.has(file)
  )
  return commented.map((file) => readDocComment(found.reads.get(file) ?? [])).find((fact) => fact !== undefined)
}

const mostEdges = 80

/** The imports of a part by target, without those inside a module. */
const edgesOf = (
  found: Gathered,
  own: (file: string) => string | undefined,
  all: ReadonlyArray<string>
): ReadonlyArray<Edge> => {
  const target = targetIndex(all)
  const folders = new Set(
    [...all, ...found.files].flatMap((path) => path.split("/")).map((name) => name.replace(/\.pyi?$/, ""))
  )
  const destination = ({ kind, target: to }: Import): string | undefined => {
    if (kind === "path") return target(to)
    if (kind !== "python") return `${kind}:${to}`
    const [top = ""] = to.split(".")
    return `python:${folders.has(top) ? to.split(".").slice(0, 5).join(".") : top}`
  }
  const edges = new Map<string, Edge>()
  for (const [path, lines] of found.sources) {
    const from = own(path)
    if (from === undefined) continue
    const tests = isTest(path)
    for (const each of importsOf(lines)) {
      const to = destination(each)
      if (to === undefined || to === from) continue
      const key = `${from}\n${to}\n${tests}`
      const known = edges.get(key)
      edges.set(
        key,
        known === undefined
          ? { path, line: each.line, from, to, count: 1, tests }
          : { ...known, count: known.count + 1 }
      )
    }
  }
  const inside = ({ to }: Edge): number => (/^(npm|python|go):/.test(to) ? 1 : 0)
  return [...edges.values()]
    .toSorted((a, b) =>
      inside(a) - inside(b) || Number(a.tests) - Number(b.tests) || b.count - a.count || byText(a.to, b.to)
    )
    .slice(0, mostEdges)
}

const most = { entries: 20, todos: 12, matches: 10, matchesOfFile: 3 }

const matchesOf = (found: Gathered, brief: Brief, own: (file: string) => string | undefined): ReadonlyArray<Match> =>
  brief.words.length === 0 ?
    [] :
    [...found.sources].flatMap(([path, lines]) =>
      own(path) === undefined ? [] : lines.flatMap((at): ReadonlyArray<Match> => {
        const score = at.text.trim() === "" ? 0 : fit(at, brief.words)
        return score === 0 ? [] : [{ ...at, text: at.text.trim(), score }]
      }).toSorted((a, b) => b.score - a.score || a.line - b.line).slice(0, most.matchesOfFile)
    ).toSorted((a, b) => b.score - a.score || byText(a.path, b.path) || a.line - b.line).slice(0, most.matches)

/** Concludes a part's report. */
export const conclude = (brief: Brief, found: Gathered, notes: ReadonlyArray<string>): PartReport => {
  const owner = ownerIndex(brief.all)
  const mine = new Set(brief.modules.map((module) => module.path))
  const own = (file: string): string | undefined => {
    const module = owner(file)
    return module !== undefined && mine.has(module) ? module : undefined
  }
  const filesOf = new Map<string, Array<string>>(brief.modules.map((module) => [module.path, []]))
  for (const file of found.files) filesOf.get(own(file) ?? "")?.push(file)
  const manifests = [...found.reads].flatMap(([path, lines]) => {
    const manifest = own(path) === undefined ? undefined : readManifest(path, lines)
    return manifest === undefined ? [] : [manifest]
  }).toSorted((a, b) => byText(a.path, b.path))
  const all = [...found.sources.values()].filter((lines) => lines[0] !== undefined && own(lines[0].path) !== undefined)
  const packages = found.files.filter((file) =>
    own(file) !== undefined && baseName(file) === "__main__.py" && !isTest(file)
  )
    .map((path): Fact => ({
      path,
      line: 1,
      text: `python -m ${folderOf(path).replace(/^src\//, "").replaceAll("/", ".")}`
    }))
  const marked = all.flatMap(entriesOf)
  const todos = all.flatMap(todosOf)
  const modules = [...filesOf]
  return {
    label: brief.label,
    modules: modules.map(([path, files]) => factsOf(path, files, found)),
    names: manifests.filter(({ name }) => name !== "").map(({ kind, line, name, path }): Name => ({
      path,
      line,
      kind,
      name
    })),
    purposes: modules.flatMap(([path, files]) => purposeOf(path, files, found, manifests) ?? []),
    largest: modules.flatMap(([, files]) => largestOf(files, found.lines)),
    entries: [...manifests.flatMap((manifest) => manifest.entries), ...packages, ...marked].slice(0, most.entries),
    edges: edgesOf(found, own, brief.all),
    todos: todos.slice(0, most.todos),
    todoCount: todos.length,
    matches: matchesOf(found, brief, own),
    notes
  }
}
