/** How one agent surveys a part of a project: its prompt, its calls, and the report that it concludes with. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import {
  baseName,
  byText,
  families,
  familyOf,
  folderOf,
  isCode,
  isGenerated,
  isManifest,
  isTest,
  languageOf,
  type Module,
  ownerIn,
  type Part,
  type Place,
  placesOf,
  splitPlace,
  surveyed,
  targetIn
} from "./project.ts"
import { fit, searchPattern, Word } from "./question.ts"
import {
  entriesOf,
  importsOf,
  type Manifest,
  patterns,
  readDocComment,
  readIntroduction,
  readManifest,
  todosOf
} from "./reading.ts"
import {
  type Call,
  describe,
  type Fact,
  inputOf,
  isCut,
  oneLine,
  pathIn,
  type PlannedCall,
  readCounts,
  readFolders,
  readLines,
  readMatches,
  readPaths,
  type Toolbox,
  unreadable
} from "./toolbox.ts"

const Paths = Schema.Array(Schema.String)

/** The task of one subagent. */
const Brief = Schema.Struct({
  label: Schema.String,
  modules: Paths,
  places: Schema.Array(Schema.Struct({ path: Schema.String, names: Schema.optionalWith(Paths, { exact: true }) })),
  families: Schema.Array(Schema.Literal("js", "python", "go")),
  /** The modules of the whole project, to name what is imported. */
  all: Paths,
  words: Schema.Array(Word)
})
export type Brief = typeof Brief.Type

/** The task of surveying these modules. */
export const briefOf = (part: Part, all: ReadonlyArray<Module>, words: Brief["words"]): Brief => ({
  label: part.label,
  modules: part.modules.map(({ path }) => path),
  places: placesOf(part.modules),
  families: families.filter((family) =>
    part.modules.some(({ files }) => files.some((file) => familyOf(file) === family))
  ),
  all: all.map(({ path }) => path),
  words
})

const BriefJson = Schema.parseJson(Brief)
const opening = "Survey one part of this project and conclude with facts, each one with its file and line."

/** Writes the prompt of a subagent. */
export const writeBrief = (brief: Brief): string =>
  [
    `${opening} Part: ${brief.label}.`,
    "Read only its `places`: `path` is a folder with all below it, or with `names` only these files in it. `all` are the modules of the project, to name what is imported. Look for `words` too. Say what you could not read, and change nothing.",
    Schema.encodeSync(BriefJson)(brief)
  ].join("\n\n")

/** Reads a prompt; undefined if it is another text. */
export const readBrief = (prompt: string): Brief | undefined =>
  prompt.startsWith(opening)
    ? Option.getOrUndefined(Schema.decodeOption(BriefJson)(prompt.slice(prompt.indexOf("\n\n{") + 2)))
    : undefined

const FactSchema = { path: Schema.String, line: Schema.Number, text: Schema.String }

/** One statement of a report. */
const Statement = Schema.Union(
  /** A module, with its languages by number of files. `lines` and `exports` count what is written by hand. */
  Schema.Struct({
    kind: Schema.Literal("module"),
    path: Schema.String,
    files: Schema.Number,
    lines: Schema.Number,
    exports: Schema.Number,
    todos: Schema.Number,
    languages: Schema.Array(Schema.Tuple(Schema.String, Schema.Number))
  }),
  /** The name that a manifest gives its folder. */
  Schema.Struct({ kind: Schema.Literal("npm", "python", "go"), ...FactSchema }),
  Schema.Struct({ kind: Schema.Literal("purpose", "entry", "todo"), ...FactSchema }),
  /** A large file. */
  Schema.Struct({ kind: Schema.Literal("file"), path: Schema.String, lines: Schema.Number }),
  /** The imports of one target by one module, `line` of the first. */
  Schema.Struct({
    kind: Schema.Literal("import"),
    path: Schema.String,
    line: Schema.Number,
    from: Schema.String,
    /** A module's path, or `npm:…`, `python:…`, `go:…`. */
    to: Schema.String,
    count: Schema.Number,
    tests: Schema.Boolean
  }),
  /** A line that matches the question. A higher score is better. */
  Schema.Struct({ kind: Schema.Literal("match"), ...FactSchema, score: Schema.Number }),
  /** What could not be read completely. */
  Schema.Struct({ kind: Schema.Literal("note"), text: Schema.String })
)
export type Statement = typeof Statement.Type
type Of<Kind, Each = Statement> = Each extends { readonly kind: infer Kinds } ? Kind extends Kinds ? Each : never
  : never

/** The statements of one kind. */
export const statements = <Kind extends Statement["kind"]>(all: ReadonlyArray<Statement>, kind: Kind) =>
  all.filter((each): each is Statement & Of<Kind> => each.kind === kind)

const StatementJson = Schema.parseJson(Statement)

const head = (label: string): string => `Survey of ${label}, by fixed rules and without AI.`

/** Writes a report: its head, and one statement a line. */
export const writePart = (label: string, all: ReadonlyArray<Statement>): string =>
  `${head(label)}\n\n${all.map((each) => Schema.encodeSync(StatementJson)(each)).join("\n")}`

/** Reads a report; undefined for any other text, such as another model's answer. */
export const readPart = (text: string): ReadonlyArray<Statement> | undefined =>
  text.startsWith("Survey of ") && text.split("\n", 1)[0]?.endsWith(head("").slice("Survey of ".length))
    ? text.split("\n").slice(1).flatMap((line) => Option.toArray(Schema.decodeOption(StatementJson)(line)))
    : undefined

/** A search of one place: with more results than one call shows, it is repeated in smaller places. */
interface Search {
  readonly place: Place
  readonly calls: (place: Place) => ReadonlyArray<PlannedCall>
}

const keyOf = ({ input, name }: PlannedCall): string => JSON.stringify([name, input])

/** How often a place is divided, and how many calls a step makes at most. */
const bounds = { depth: 9, calls: 90 }

/** The calls that are still to be made, and what remains cut. Replays the searches over the calls that were made. */
const search = (searches: ReadonlyArray<Search>, made: ReadonlyArray<Call>, files: () => ReadonlyArray<string>) => {
  const outputs = new Map(made.map((call) => [keyOf(call), call]))
  const next: Array<PlannedCall> = []
  const cut: Array<string> = []
  const visit = ({ calls, place }: Search, depth: number): void => {
    for (const call of calls(place)) {
      const output = outputs.get(keyOf(call))?.output
      if (output === undefined) next.push(call)
      else if (!output.failed && isCut(output.text)) {
        const smaller = depth < bounds.depth ? splitPlace(place, files()) : []
        const same = (at: Place) => calls(at).filter((each) => each.name === call.name && isLike(each, call))
        for (const at of smaller) visit({ place: at, calls: same }, depth + 1)
        if (smaller.length === 0) cut.push(describe(call))
      }
    }
  }
  for (const each of searches) visit(each, 0)
  const rest = next.slice(bounds.calls).map(describe)
  return { next: next.slice(0, bounds.calls), cut: [...cut, ...rest] }
}

/** Whether two greps look for the same in the same way. */
const isLike = (a: PlannedCall, b: PlannedCall): boolean =>
  inputOf(a, "pattern") === inputOf(b, "pattern") && inputOf(a, "mode") === inputOf(b, "mode")

const more = (calls: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...new Set(calls)].map((call) => `The output of ${call} was cut: there is more than was counted.`)

/** Lists the files of folders: those of a folder with too many one subfolder at a time. */
export const listFiles = (folders: ReadonlyArray<string>, made: ReadonlyArray<Call>, tools: Toolbox) => {
  const outputs = new Map(made.map((call) => [keyOf(call), call.output]))
  const next: Array<PlannedCall> = []
  const cut: Array<string> = []
  const outputOf = (call: PlannedCall | undefined): string | undefined => {
    if (call === undefined) return undefined
    const output = outputs.get(keyOf(call))
    if (output === undefined) next.push(call)
    return output?.failed === false ? output.text : undefined
  }
  const visit = (folder: string, depth: number): void => {
    const [all] = tools.glob("**/*", folder)
    const isWhole = all === undefined || !isCut(outputOf(all) ?? "")
    // Below a folder that was cut, all is asked for at once: deep folders would take two steps each.
    if (all === undefined || (isWhole && (depth === 0 || outputs.has(keyOf(all))))) return
    const own = outputOf(tools.glob("./*", folder)[0]) ?? ""
    const list = outputOf(tools.list(folder)[0]) ?? ""
    if (isCut(own) || depth === bounds.depth) cut.push(describe(all))
    if (depth < bounds.depth) {
      for (const name of readFolders(list)) visit(folder === "" ? name : `${folder}/${name}`, depth + 1)
    }
  }
  for (const folder of folders) visit(folder, 0)
  return { next: next.slice(0, bounds.calls), notes: more([...cut, ...next.slice(bounds.calls).map(describe)]) }
}

/** The collected results of calls. */
export interface Found {
  /** Sorted. */
  readonly files: ReadonlyArray<string>
  readonly lines: ReadonlyMap<string, number>
  readonly exports: ReadonlyMap<string, number>
  /** Lines that were seen, by file and in order. */
  readonly sources: ReadonlyMap<string, ReadonlyArray<Fact>>
  /** Lines that were read from the beginning of a file. */
  readonly reads: ReadonlyMap<string, ReadonlyArray<Fact>>
  readonly notes: ReadonlyArray<string>
}

/** Collects the results of calls. */
export const gather = (calls: ReadonlyArray<Call>, named: ReadonlyArray<string> = []): Found => {
  const files = new Set(named)
  const lines = new Map<string, number>()
  const exports = new Map<string, number>()
  const reads = new Map<string, ReadonlyArray<Fact>>()
  const notes = new Set<string>()
  const searched: Array<string> = []
  for (const call of calls) {
    const { failed = true, text = "" } = call.output ?? {}
    const isGrep = call.name === "grep"
    if (call.name === "task" || call.output === undefined) continue
    if (failed) {
      notes.add(`${describe(call)} failed: ${text.split("\n")[0] ?? ""}`)
      continue
    }
    for (const note of unreadable(text)) notes.add(note)
    if (call.name === "glob") { for (const path of readPaths(text)) files.add(path.replace(/^\.\//, "")) }
    if (isGrep && call.input["mode"] !== "count") searched.push(text)
    if (isGrep && call.input["mode"] === "count") {
      const counts = inputOf(call, "pattern") === patterns.anyLine ? lines : exports
      for (const [path, count] of readCounts(text)) counts.set(path.replace(/^\.\//, ""), count)
    }
    if (call.name === "read") reads.set(pathIn(call), readLines(text, pathIn(call)))
  }
  for (const path of [...lines.keys(), ...reads.keys()]) files.add(path)
  const pool = new Map<string, Map<number, Fact>>()
  for (
    const at of [
      ...searched.flatMap((text) => readMatches(text, (path) => files.has(path.replace(/^\.\//, "")))),
      ...[...reads.values()].flat()
    ]
  ) {
    const path = at.path.replace(/^\.\//, "")
    pool.set(path, (pool.get(path) ?? new Map<number, Fact>()).set(at.line, { ...at, path }))
  }
  return {
    files: surveyed(files),
    lines,
    exports,
    sources: new Map(
      surveyed(pool.keys()).map((
        path
      ) => [path, [...pool.get(path)?.values() ?? []].toSorted((a, b) => a.line - b.line)])
    ),
    reads,
    notes: [...notes]
  }
}

const introductions = /^(readme(\.\w+)?|__init__\.py|doc\.go|(index|main|mod|lib|app|cli)\.\w+)$/i

/** The files that tell what a module is: its manifests, its README, and the first file of its program. */
const telling = (module: string, files: ReadonlyArray<string>): ReadonlyArray<string> => {
  const top = module.replace(/\/\*?$/, "").replace(/^\.$/, "")
  const depth = (file: string): number => file.split("/").length
  const own = files.filter((file) => !isTest(file))
  const right = own.filter((file) => folderOf(file) === top)
  // Deeper files describe themselves, not the module.
  const first = own.filter((file) =>
    introductions.test(baseName(file)) && isCode(file) && depth(file) <= depth(top) + 2 && !file.includes("/internal/")
  ).toSorted((a, b) => depth(a) - depth(b) || byText(a, b))
  const readme = top === "" ? [] : right.filter((file) => /^readme(\.(md|rst|txt))?$/i.test(baseName(file)))
  return [
    ...right.filter(isManifest),
    ...readme.slice(0, 1),
    ...(own.length === 1 ? own.filter(isCode) : first.slice(0, 1))
  ]
}

/** The files of each module of a brief. */
const filesByModule = (brief: Brief, files: ReadonlyArray<string>): ReadonlyMap<string, ReadonlyArray<string>> => {
  const owner = ownerIn(brief.all)
  const byOwner = Map.groupBy(files, (file) => owner(file) ?? "")
  return new Map(brief.modules.map((path) => [path, byOwner.get(path) ?? []]))
}

const mostReads = 14

/** Files that are known by name, without a listing. */
const namesOf = (brief: Brief): ReadonlyArray<string> =>
  brief.places.flatMap(({ names = [], path }) => names.map((name) => (path === "" ? name : `${path}/${name}`)))

/** The next calls of an agent that surveys a part, or its conclusion. */
export const explore = (
  brief: Brief,
  made: ReadonlyArray<Call>,
  tools: Toolbox
): { readonly next: ReadonlyArray<PlannedCall> } | { readonly conclusion: ReadonlyArray<Statement> } => {
  const folders = brief.places.flatMap(({ names, path }) => (names === undefined ? [path] : []))
  const found = gather(made, namesOf(brief))
  const listing = listFiles(folders, made, tools)
  const searches = brief.places.map((place): Search => ({
    place,
    calls: (at) => [
      ...tools.grep(patterns.anyLine, at, { count: true }),
      ...tools.grep(patterns.exports, at, { count: true }),
      ...brief.families.flatMap((family) => tools.grep(patterns.imports[family], at, { family })),
      ...tools.grep(patterns.marks, at)
    ]
  }))
  const greps = search(searches, made, () => found.files)
  const words = brief.words.length === 0
    ? []
    : brief.places.flatMap((place) => tools.grep(searchPattern(brief.words), place))
  const done = new Set(made.map(keyOf))
  const first = [...listing.next, ...greps.next, ...words.filter((call) => !done.has(keyOf(call)))]
  if (first.length > 0) return { next: first }
  const reads = [...filesByModule(brief, found.files)].flatMap(([module, files]) => telling(module, files))
    .toSorted((a, b) => Number(isManifest(b)) - Number(isManifest(a)))
    .flatMap((file) => found.reads.has(file) ? [] : tools.read(file, isManifest(file) ? undefined : 40))
  const wanted = reads.slice(0, Math.max(0, mostReads - found.reads.size)).filter((call) => !done.has(keyOf(call)))
  if (wanted.length > 0) return { next: wanted }
  return { conclusion: conclude(brief, found, [...found.notes, ...listing.notes, ...more(greps.cut)]) }
}

const most = { entries: 20, todos: 12, matches: 10, matchesOfFile: 3, imports: 80, large: 4 }

const sum = (files: ReadonlyArray<string>, counts: ReadonlyMap<string, number>): number =>
  files.reduce((total, file) => total + (counts.get(file) ?? 0), 0)

/** The purpose of a module, from its manifest, else its README, else the first comment of its first file. */
const purposeOf = (
  path: string,
  files: ReadonlyArray<string>,
  { reads }: Found,
  manifests: ReadonlyArray<Manifest>
): Fact | undefined => {
  const isHere = (file: string): boolean => `${folderOf(file)}/` === path
  const readme = files.find((file) => isHere(file) && reads.has(file) && /^readme/i.test(baseName(file)))
  const read = files.filter((file) => isCode(file) && !isTest(file) && baseName(file) !== "setup.py" && reads.has(file))
  return manifests.find((manifest) => isHere(manifest.path))?.description
    ?? readIntroduction(reads.get(readme ?? "") ?? []).text
    ?? read.map((file) => readDocComment(reads.get(file) ?? [])).find((fact) => fact !== undefined)
}

/** The imports of a part by target, without those inside a module: those of the project first. */
const importsIn = (found: Found, own: (file: string) => string | undefined, all: ReadonlyArray<string>) => {
  const target = targetIn(all)
  const names = new Set(
    [...all, ...found.files].flatMap((path) => path.split("/")).map((each) => each.replace(/\.pyi?$/, ""))
  )
  const edges = new Map<string, Of<"import">>()
  for (const [path, lines] of found.sources) {
    const from = own(path)
    if (from === undefined) continue
    const tests = isTest(path)
    for (const { line, target: written } of importsOf(lines)) {
      const [, kind, name = ""] = /^(\w+):(.*)$/.exec(written) ?? []
      const parts = name.split(".")
      const to = kind === "path"
        ? target(name)
        : kind === "python"
        ? `python:${parts.slice(0, names.has(parts[0] ?? "") ? 5 : 1).join(".")}`
        : written
      if (to === undefined || to === from) continue
      const key = `${from}\n${to}\n${tests}`
      const { count = 0, ...first } = edges.get(key) ?? { kind: "import", path, line, from, to, tests }
      edges.set(key, { ...first, count: count + 1 })
    }
  }
  const isOutside = ({ to }: Of<"import">): number => Number(/^(npm|python|go):/.test(to))
  return [...edges.values()].toSorted((a, b) =>
    isOutside(a) - isOutside(b) || Number(a.tests) - Number(b.tests) || b.count - a.count || byText(a.to, b.to)
  ).slice(0, most.imports)
}

const byScore = (a: Of<"match">, b: Of<"match">): number =>
  b.score - a.score || byText(a.path, b.path) || a.line - b.line

/** Concludes a report. */
const conclude = (brief: Brief, found: Found, notes: ReadonlyArray<string>): ReadonlyArray<Statement> => {
  const modules = filesByModule(brief, found.files)
  const owner = ownerIn(brief.all)
  const own = (file: string): string | undefined => {
    const module = owner(file)
    return module !== undefined && modules.has(module) ? module : undefined
  }
  const sources = [...found.sources].filter(([path]) => own(path) !== undefined)
  const manifests = [...found.reads].flatMap(([path, lines]) =>
    own(path) === undefined ? [] : readManifest(path, lines) ?? []
  ).toSorted((a, b) => byText(a.path, b.path))
  const programs = [...modules.values()].flat().filter((file) => baseName(file) === "__main__.py" && !isTest(file)).map(
    (path): Fact => ({
      path,
      line: 1,
      text: `python -m ${folderOf(path).replace(/^src\//, "").replaceAll("/", ".")}`
    })
  )
  const todos = sources.flatMap(([, lines]) => todosOf(lines))
  const matches = brief.words.length === 0 ?
    [] :
    sources.flatMap(([, lines]) =>
      lines.map((at): Of<"match"> => ({ kind: "match", ...at, text: at.text.trim(), score: fit(at, brief.words) }))
        .filter(({ score }) => score > 0).toSorted(byScore).slice(0, most.matchesOfFile)
    )
  const factsOf = <Kind extends "purpose" | "entry" | "todo">(kind: Kind, facts: ReadonlyArray<Fact>) =>
    facts.map((fact) => ({ ...fact, kind, text: oneLine(fact.text, 200) }))
  return [
    ...[...modules].map(([path, files]): Statement => {
      const written = files.filter((file) => !isGenerated(file))
      return {
        kind: "module",
        path,
        files: files.length,
        lines: sum(written, found.lines),
        exports: sum(written.filter((file) => isCode(file) && !isTest(file)), found.exports),
        todos: todos.filter((todo) => own(todo.path) === path).length,
        languages: [...Map.groupBy(files, languageOf)].map(([language, all]) => [language, all.length] as const)
          .toSorted((a, b) => b[1] - a[1] || byText(a[0], b[0]))
      }
    }),
    ...manifests.filter(({ name }) => name !== "").map(({ kind, line, name, path }) => ({
      kind,
      path,
      line,
      text: name
    })),
    ...factsOf("purpose", [...modules].flatMap(([path, files]) => purposeOf(path, files, found, manifests) ?? [])),
    ...[...modules.values()].flatMap((files) => {
      const written = files.filter((file) => !isGenerated(file) && found.lines.has(file))
      const kinds = [written.filter((file) => isCode(file) && !isTest(file)), written.filter(isCode), written]
      return (kinds.find((each) => each.length > 0) ?? []).map((path): Of<"file"> => ({
        kind: "file",
        path,
        lines: found.lines.get(path) ?? 0
      })).toSorted((a, b) => b.lines - a.lines || byText(a.path, b.path)).slice(0, most.large)
    }),
    ...factsOf(
      "entry",
      [...manifests.flatMap((each) => each.entries), ...programs, ...sources.flatMap(([, lines]) => entriesOf(lines))]
        .slice(0, most.entries)
    ),
    ...importsIn(found, own, brief.all),
    ...factsOf("todo", todos.slice(0, most.todos)),
    ...matches.toSorted(byScore).slice(0, most.matches).map((each) => ({ ...each, text: oneLine(each.text, 200) })),
    ...notes.map((text): Statement => ({ kind: "note", text: oneLine(text, 300) }))
  ]
}
