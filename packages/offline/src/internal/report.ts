/** Writes the report of a survey: the parts put together, and what they say of the whole project. */
import type { Question } from "./brief.ts"
import { type Manifest, manifestFolder } from "./facts.ts"
import { baseName, byText, folderOf, isCode, isCodeLanguage, languageOf, stem } from "./language.ts"
import { label, languagesOf, type Module, ownerIndex, targetIndex } from "./modules.ts"
import { type Edge, type Match, type ModuleFacts, type Name, oneLine, type PartReport } from "./partReport.ts"
import type { Fact } from "./toolbox.ts"

/** An arrow between modules, or from the project to something outside. */
interface Arrow {
  readonly from: string
  readonly to: string
  readonly count: number
  /** The file of the first import. */
  readonly path: string
  readonly line: number
}

/** All imports of a project. */
interface Imports {
  /** Between modules, outside tests. */
  readonly arrows: ReadonlyArray<Arrow>
  /** Between modules, only in tests. */
  readonly testArrows: ReadonlyArray<Arrow>
  /** From outside; `from` is `npm`, `python` or `go`. */
  readonly outside: ReadonlyArray<Arrow>
  /** From outside, only in tests. */
  readonly testOutside: ReadonlyArray<Arrow>
}

/** Resolves an import by name: a module's path, `""` for an unknown place in the project, undefined for outside. */
type Resolve = (edge: Edge) => string | undefined

const npmResolver = (names: ReadonlyArray<Name>, modules: ReadonlyArray<string>, folders: ReadonlySet<string>) => {
  const owner = ownerIndex(modules)
  const target = targetIndex(modules)
  const homes = new Map(names.filter(({ kind }) => kind === "npm").map(({ name, path }) => [name, path]))
  return (name: string): string | undefined => {
    const home = homes.get(name)
    if (home !== undefined) return modules.includes(manifestFolder(home)) ? manifestFolder(home) : owner(home)
    // With a base URL of `src` or the top, an import that looks like a package is a folder.
    const folder = [`src/${name}`, name].find((path) => folders.has(path))
    return folder === undefined ? undefined : target(folder)
  }
}

const pythonResolver = (names: ReadonlyArray<Name>, modules: ReadonlyArray<string>, files: ReadonlyArray<string>) => {
  const target = targetIndex(modules)
  const python = files.filter((file) => file.endsWith(".py"))
  const places = new Set(python.map((file) => file.slice(0, -".py".length)))
  for (const file of python) {
    for (let folder = folderOf(file); folder !== ""; folder = folderOf(folder)) places.add(folder)
  }
  const homes = names.filter(({ kind }) => kind === "python").map(({ path }) => folderOf(path))
  const roots = ["", "src", "lib", "python", ...homes, ...homes.map((home) => (home === "" ? "src" : `${home}/src`))]
  return (dotted: string, importer: string): string | undefined => {
    const beside: Array<string> = []
    for (let folder = folderOf(importer); folder !== ""; folder = folderOf(folder)) beside.push(folder)
    const parts = dotted.split(".")
    for (const root of [...new Set([...roots, ...beside])]) {
      for (let length = parts.length; length > 0; length--) {
        const path = [...(root === "" ? [] : [root]), ...parts.slice(0, length)].join("/")
        // The last name may be a member of the module. If more is left, the survey did not look at that module.
        if (places.has(path)) return parts.length - length > 1 ? "" : target(path)
      }
    }
    return undefined
  }
}

const goResolver = (names: ReadonlyArray<Name>, modules: ReadonlyArray<string>) => {
  const target = targetIndex(modules)
  const homes = names.filter(({ kind }) => kind === "go").toSorted((a, b) => b.name.length - a.name.length)
  return (path: string): string | undefined => {
    const home = homes.find(({ name }) => path === name || path.startsWith(`${name}/`))
    if (home === undefined) return undefined
    const below = path.slice(home.name.length + 1)
    const folder = folderOf(home.path)
    // An invented file name, to find the module of the files directly in that folder.
    return target([folder, below, "doc.go"].filter((each) => each !== "").join("/"))
  }
}

const resolverOf = (
  names: ReadonlyArray<Name>,
  modules: ReadonlyArray<string>,
  files: ReadonlyArray<string>
): Resolve => {
  const folders = new Set<string>()
  for (const file of files) {
    for (let folder = folderOf(file); folder !== "" && !folders.has(folder); folder = folderOf(folder)) {
      folders.add(folder)
    }
  }
  const npm = npmResolver(names, modules, folders)
  const python = pythonResolver(names, modules, files)
  const go = goResolver(names, modules)
  return ({ path, to }) => {
    if (to.startsWith("npm:")) return npm(to.slice(4))
    if (to.startsWith("python:")) return python(to.slice(7), path)
    return to.startsWith("go:") ? go(to.slice(3)) : to
  }
}

/** The name of the package to install for an import. */
const dependencyOf = (to: string): string => {
  const colon = to.indexOf(":")
  const name = to.slice(colon + 1)
  if (to.startsWith("python:")) return name.split(".")[0] ?? name
  if (!to.startsWith("go:")) return name
  const length = /^(github\.com|gitlab\.com|bitbucket\.org|golang\.org|google\.golang\.org\/genproto)\//.test(name)
    ? 3
    : 2
  return name.split("/").slice(0, length).join("/")
}

const gatherArrows = (edges: ReadonlyArray<Omit<Edge, "tests">>): ReadonlyArray<Arrow> => {
  const arrows = new Map<string, Arrow>()
  for (const { count, from, line, path, to } of edges) {
    const key = `${from}\n${to}`
    const known = arrows.get(key)
    if (known === undefined) arrows.set(key, { from, to, count, path, line })
    else {
      const first = byText(path, known.path) < 0 ? { path, line } : { path: known.path, line: known.line }
      arrows.set(key, { from, to, count: known.count + count, ...first })
    }
  }
  return [...arrows.values()].toSorted((a, b) => byText(a.from, b.from) || b.count - a.count || byText(a.to, b.to))
}

/** Resolves the imports of all parts. */
const importsOfProject = (
  parts: ReadonlyArray<PartReport>,
  modules: ReadonlyArray<Module>,
  files: ReadonlyArray<string>,
  manifests: ReadonlyArray<Manifest>
): Imports => {
  const paths = modules.map((module) => module.path)
  const resolve = resolverOf([...parts.flatMap((part) => part.names), ...manifests], paths, files)
  const resolved = parts.flatMap((part) => part.edges).map((edge) => ({ edge, module: resolve(edge) }))
  const between = resolved.flatMap(({ edge, module }) =>
    module === undefined || module === "" || module === edge.from ? [] : [{ ...edge, to: module }]
  )
  const beyond = resolved.flatMap(({ edge, module }) =>
    module === undefined ? [{ ...edge, from: edge.to.slice(0, edge.to.indexOf(":")), to: dependencyOf(edge.to) }] : []
  )
  const split = (edges: ReadonlyArray<Edge>) => {
    const used = gatherArrows(edges.filter((edge) => !edge.tests))
    const keys = new Set(used.map(({ from, to }) => `${from}\n${to}`))
    return [used, gatherArrows(edges.filter((edge) => edge.tests && !keys.has(`${edge.from}\n${edge.to}`)))] as const
  }
  const [arrows, testArrows] = split(between)
  const [outside, testOutside] = split(beyond)
  const often = (list: ReadonlyArray<Arrow>) => list.toSorted((a, b) => b.count - a.count || byText(a.to, b.to))
  return { arrows, testArrows, outside: often(outside), testOutside: often(testOutside) }
}

const rankOf = (text: string): number =>
  [
    /^command /,
    /^(main function|runs |python -m|renders)/,
    /application$|^server /,
    /^npm /,
    /^(executable|reads the command line)/,
    /^library/
  ]
    .findIndex((pattern) => pattern.test(text))

/** Folders that support the project, such as scripts and docs. */
const isAside = (path: string): boolean => /(^|\/)(scripts?|bench(marks?)?|examples?|docs?)\//.test(path)

const depth = (path: string): number => path.split("/").length

/** Distinct entry points, those that people start first. */
const entryPointsOf = (parts: ReadonlyArray<PartReport>): ReadonlyArray<Fact> => {
  const all = parts.flatMap((part) => part.entries)
  const targets = new Set(all.flatMap((fact) => {
    const target = /^command \S+ -> (\S+)$/.exec(fact.text)?.[1]
    return target === undefined ? [] : [target]
  }))
  const topScripts = all.some((fact) => fact.path === "package.json" && fact.text.startsWith("npm "))
  const seen = new Set<string>()
  return all.filter((fact) => {
    const key = `${at(fact)} ${fact.text}`
    const double = seen.has(key) || (fact.text.startsWith("executable") && targets.has(fact.path))
      || (fact.text === "runs as a script" && baseName(fact.path) === "__main__.py")
      || (topScripts && fact.text.startsWith("npm ") && fact.path !== "package.json")
    seen.add(key)
    return !double
  }).toSorted((a, b) =>
    rankOf(a.text) - rankOf(b.text) || Number(isAside(a.path)) - Number(isAside(b.path)) ||
    depth(a.path) - depth(b.path) || byText(a.path, b.path) || a.line - b.line
  )
}

/** The answers to a question, best first: matching lines, and entry points if it asks for one. */
const answersOf = (parts: ReadonlyArray<PartReport>, { entry, words }: Question): ReadonlyArray<Match> => {
  const plain = words.map((word) => word.text.toLowerCase())
  const entries = entryPointsOf(parts).map((fact): Match => {
    const text = `${fact.path} ${fact.text}`.toLowerCase()
    const hits = plain.filter((word) => text.includes(word)).length
    return { ...fact, score: hits === 0 ? 0 : hits * 6 + (entry ? 20 - 2 * rankOf(fact.text) : 0) }
  }).filter((match) => match.score > 0)
  const best = new Map<string, Match>()
  for (const match of [...entries, ...parts.flatMap((part) => part.matches)]) {
    const known = best.get(at(match))
    if (known === undefined || match.score > known.score) best.set(at(match), match)
  }
  return [...best.values()].toSorted((a, b) => b.score - a.score || byText(a.path, b.path) || a.line - b.line)
}

/** The groups of modules that import each other in a cycle. */
const cycles = (arrows: ReadonlyArray<Arrow>): ReadonlyArray<ReadonlyArray<string>> => {
  const next = new Map<string, Array<string>>()
  for (const { from, to } of arrows) next.set(from, [...(next.get(from) ?? []), to])
  const reach = (from: string): ReadonlySet<string> => {
    const seen = new Set<string>()
    const open = [...(next.get(from) ?? [])]
    for (let each = open.pop(); each !== undefined; each = open.pop()) {
      if (seen.has(each)) continue
      seen.add(each)
      open.push(...(next.get(each) ?? []))
    }
    return seen
  }
  const reached = new Map([...next.keys()].map((from) => [from, reach(from)]))
  const found = new Map<string, ReadonlyArray<string>>()
  for (const from of [...next.keys()].toSorted()) {
    if (reached.get(from)?.has(from) !== true || [...found.values()].some((cycle) => cycle.includes(from))) continue
    found.set(
      from,
      [...next.keys()].filter((to) => reached.get(from)?.has(to) === true && reached.get(to)?.has(from) === true)
        .toSorted()
    )
  }
  return [...found.values()]
}

/** The distance of each module from those that import nothing, ignoring cycles. */
const heights = (modules: ReadonlyArray<string>, arrows: ReadonlyArray<Arrow>): ReadonlyMap<string, number> => {
  const round = cycles(arrows)
  const straight = arrows.filter(({ from, to }) => !round.some((cycle) => cycle.includes(from) && cycle.includes(to)))
  const height = new Map(modules.map((path) => [path, 0]))
  for (let settled = false; !settled;) {
    settled = true
    for (const { from, to } of straight) {
      const least = (height.get(to) ?? 0) + 1
      if (least <= (height.get(from) ?? 0)) continue
      height.set(from, least)
      settled = false
    }
  }
  return height
}

/** Short names: the last folder if it is unique. */
const shortNames = (modules: ReadonlyArray<string>): (path: string) => string => {
  const last = (path: string): string => label(path).split("/").at(-1) ?? ""
  const counts = new Map<string, number>()
  for (const path of modules) counts.set(last(path), (counts.get(last(path)) ?? 0) + 1)
  return (path) => (counts.get(last(path)) === 1 && last(path) !== "*" ? last(path) : label(path))
}

/** Draws the arrows below the module that imports, in about `lines` lines. The strongest get a line each. */
const draw = (
  modules: ReadonlyArray<string>,
  arrows: ReadonlyArray<Arrow>,
  lines: number
): ReadonlyArray<string> => {
  const short = shortNames(modules)
  const height = heights(modules, arrows)
  const touched = modules.filter((path) => arrows.some(({ from, to }) => from === path || to === path))
  const each = touched.length + arrows.length <= lines
    ? arrows.length
    : Math.max(1, Math.floor((lines - 2 * touched.length) / Math.max(1, touched.length)))
  const width = Math.max(0, ...arrows.map(({ to }) => short(to).length))
  const digits = Math.max(0, ...arrows.map(({ count }) => String(count).length))
  return touched.toSorted((a, b) => (height.get(b) ?? 0) - (height.get(a) ?? 0) || byText(a, b)).flatMap((path) => {
    const own = arrows.filter((arrow) => arrow.from === path)
    const rest = own.slice(each).map((arrow) => short(arrow.to))
    return [
      short(path),
      ...own.slice(0, each).map((arrow) =>
        `  -> ${short(arrow.to).padEnd(width)}  ${String(arrow.count).padStart(digits)}x  ${arrow.path}:${arrow.line}`
      ),
      ...(rest.length === 0
        ? []
        : [`  -> also ${rest.slice(0, 6).join(", ")}${rest.length > 6 ? ` and ${rest.length - 6} more` : ""}`])
    ]
  })
}

/** A table in Markdown whose columns line up; `right` names the columns of numbers. */
const table = (
  head: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
  right: ReadonlySet<number>
): ReadonlyArray<string> => {
  const safe = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")))
  const widths = head.map((title, column) =>
    Math.max(title.length, ...safe.map((row) => [...(row[column] ?? "")].length))
  )
  const pad = (cell: string, column: number): string => {
    const space = " ".repeat(Math.max(0, (widths[column] ?? 0) - [...cell].length))
    return right.has(column) ? space + cell : cell + space
  }
  const line = (cells: ReadonlyArray<string>): string => `| ${cells.map(pad).join(" | ")} |`
  const rule = widths.map((width, column) => (right.has(column) ? `${"-".repeat(width - 1)}:` : "-".repeat(width)))
  return [line(head), line(rule), ...safe.map(line)]
}

/** A subagent without a report. */
export interface Missing {
  readonly label: string
  readonly state: string
  readonly reason: string
}

/** The input of a report. */
interface Survey {
  readonly question: Question
  readonly modules: ReadonlyArray<Module>
  readonly parts: ReadonlyArray<PartReport>
  /** All files of the project. */
  readonly files: ReadonlyArray<string>
  readonly manifests: ReadonlyArray<Manifest>
  readonly title: Fact | undefined
  readonly introduction: Fact | undefined
  /** The number of subagents; 0 if the agent surveyed alone. */
  readonly sent: number
  readonly missing: ReadonlyArray<Missing>
  /** Conclusions that are no report of a part, such as another model's. */
  readonly others: ReadonlyArray<{ readonly label: string; readonly text: string }>
  readonly notes: ReadonlyArray<string>
}

/** Says that no AI wrote the answer. */
export const disclaimer =
  "> No AI wrote this. `offline/survey` follows fixed rules over glob, grep and read, and understands nothing of what it reads."

const most = { arrows: 48, outside: 10, todos: 10, entries: 14, largest: 5, answers: 12, notes: 8, tests: 6, places: 3 }

const grouped = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ",")

const count = (value: number, one: string): string => `${grouped(value)} ${one}${value === 1 ? "" : "s"}`

const at = (fact: { readonly path: string; readonly line: number }): string => `${fact.path}:${fact.line}`

const more = (all: number, shown: number): ReadonlyArray<string> => (all > shown ? [`- … and ${all - shown} more`] : [])

const sum = (values: ReadonlyArray<number>): number => values.reduce((total, value) => total + value, 0)

const section = (heading: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.length === 0 ? [] : [`## ${heading}\n\n${lines.join("\n")}`]

const code = (
  lines: ReadonlyArray<string>
): ReadonlyArray<string> => (lines.length === 0 ? [] : ["```text", ...lines, "```"])

/** The project in its own words. */
const opening = (survey: Survey): ReadonlyArray<string> => {
  const [manifest] = survey.manifests
  const name = survey.title?.text ?? (manifest?.name || "Survey")
  const said = survey.introduction ??
    survey.manifests.map(({ description }) => description).find((text) => text !== undefined)
  const facts = survey.parts.flatMap((part) => part.modules)
  const lines = facts.map((module) => module.lines)
  const files = sum(survey.modules.map((module) => module.files.length))
  const unknown = lines.some((each) => each === undefined) || facts.length < survey.modules.length
  const kinds = survey.manifests.map((each) =>
    `${each.kind === "npm" ? "npm package" : each.kind === "go" ? "Go module" : "Python project"}${
      each.name === "" ? "" : ` ${each.name}`
    }${each.workspace ? ", a workspace" : ""} (${at(each)})`
  )
  const back = survey.sent - survey.missing.length
  return [
    `# ${oneLine(name, 80)}`,
    ...(said === undefined ? [] : [`${oneLine(said.text, 240)} (${at(said)})`]),
    [
      ...kinds,
      languagesOf(survey.modules).join(", ") || "no program text that the survey reads",
      `${count(survey.modules.length, "module")}, ${count(files, "file")}, ${
        lines.every((each) => each === undefined)
          ? "lines not counted"
          : `${unknown ? "at least " : ""}${count(sum(lines.map((each) => each ?? 0)), "line")}`
      }`,
      survey.sent === 0
        ? "surveyed without subagents"
        : `surveyed by ${back === survey.sent ? "" : `${back} of `}${count(survey.sent, "subagent")}${
          survey.sent > 1 ? " in parallel" : ""
        }`
    ].map((line) => `- ${line}`).join("\n")
  ]
}

const entryLines = ({ parts }: Survey): ReadonlyArray<string> => {
  const groups = new Map<string, ReadonlyArray<Fact>>()
  for (const fact of entryPointsOf(parts)) groups.set(fact.text, [...(groups.get(fact.text) ?? []), fact])
  const shown = [...groups].slice(0, most.entries)
  return [
    ...shown.map(([text, facts]) => {
      const rest = facts.length > most.places ? ` and ${facts.length - most.places} more` : ""
      return `- ${oneLine(text, 90)} (${facts.slice(0, most.places).map(at).join(", ")}${rest})`
    }),
    ...more(groups.size, shown.length)
  ]
}

/** A path within a module, without the part that the row already shows. */
const inside = (module: string, fact: Fact): string =>
  module.endsWith("/") && module !== "./" && fact.path.startsWith(module)
    ? `${fact.path.slice(module.length)}:${fact.line}`
    : module === fact.path
    ? `line ${fact.line}`
    : at(fact)

const whatIs = (module: string, survey: Survey, owner: (path: string) => string | undefined): string => {
  const of = <A extends Fact>(facts: ReadonlyArray<A>): ReadonlyArray<A> =>
    facts.filter((fact) => owner(fact.path) === module)
  const [purpose] = of(survey.parts.flatMap((part) => part.purposes))
  if (purpose !== undefined) return `${oneLine(purpose.text.replace(/\.$/, ""), 58)} (${inside(module, purpose)})`
  const [name] = survey.parts.flatMap((part) => part.names).filter((each) => owner(each.path) === module)
  const largest = of(survey.parts.flatMap((part) => part.largest)).filter((fact) => fact.path !== module).map((fact) =>
    stem(fact.path)
  )
  const holds = largest.length === 0 ? "" : oneLine([...new Set(largest)].join(", "), 50)
  return name === undefined ? holds : `${name.name}${holds === "" ? "" : `: ${holds}`}`
}

const moduleLines = (survey: Survey): ReadonlyArray<string> => {
  const facts = new Map(
    survey.parts.flatMap((part) => part.modules).map((module): [string, ModuleFacts] => [module.path, module])
  )
  const owner = ownerIndex(survey.modules.map((module) => module.path))
  const number = (value: number | undefined): string => (value === undefined ? "?" : grouped(value))
  const rows = survey.modules.map((module) => {
    const known = facts.get(module.path)
    const languages = known?.languages.map(([name]) => name) ?? module.files.map(languageOf)
    const language = languages.find(isCodeLanguage) ?? languages.find((name) => name !== "other") ?? "-"
    return [
      label(module.path),
      grouped(module.files.length),
      number(known?.lines),
      languages.some(isCodeLanguage) ? number(known?.exports) : "-",
      language,
      known === undefined ? "not surveyed" : whatIs(module.path, survey, owner)
    ]
  })
  return rows.length === 0
    ? []
    : table(["module", "files", "lines", "exports", "mostly", "what it is"], rows, new Set([1, 2, 3]))
}

const dependencyLines = (imports: Imports, { modules }: Survey): ReadonlyArray<string> => {
  const paths = modules.map((module) => module.path)
  const short = shortNames(paths)
  const drawn = code(draw(paths, imports.arrows, most.arrows))
  const round = cycles(imports.arrows).map((cycle) =>
    `- Folders that import each other: ${cycle.slice(0, 8).map(short).join(", ")}${
      cycle.length > 8 ? ` and ${cycle.length - 8} more` : ""
    }`
  )
  const tests = imports.testArrows.slice(0, most.tests).map((arrow) =>
    `- In tests only: ${short(arrow.from)} -> ${short(arrow.to)} (${at(arrow)})`
  )
  const none = drawn.length === 0 && paths.length > 1 ? ["- No module was seen to import another."] : []
  const notes = [...none, ...round, ...tests, ...more(imports.testArrows.length, tests.length)]
  return [...drawn, ...(drawn.length > 0 && notes.length > 0 ? [""] : []), ...notes]
}

const outsideLines = (imports: Imports): ReadonlyArray<string> => {
  const shown = imports.outside.slice(0, most.outside)
  const tests = imports.testOutside.slice(0, most.tests)
  return [
    ...shown.map((arrow) => `- ${arrow.to}: ${count(arrow.count, "import")} (first: ${at(arrow)})`),
    ...more(imports.outside.length, shown.length),
    ...tests.map((arrow) => `- In tests only: ${arrow.to} (${at(arrow)})`),
    ...more(imports.testOutside.length, tests.length)
  ]
}

const todoLines = ({ parts }: Survey): readonly [total: number, lines: ReadonlyArray<string>] => {
  const todos = parts.flatMap((part) => part.todos).toSorted((a, b) => byText(a.path, b.path) || a.line - b.line)
  const total = sum(parts.map((part) => part.todoCount))
  const shown = todos.slice(0, most.todos)
  return [total, [...shown.map((fact) => `- ${at(fact)}  ${oneLine(fact.text, 90)}`), ...more(total, shown.length)]]
}

const largestLines = ({ parts }: Survey): ReadonlyArray<string> => {
  const size = (fact: Fact): number => Number(/^\d+/.exec(fact.text)?.[0] ?? 0)
  const all = parts.flatMap((part) => part.largest)
  const written = all.filter((fact) => isCode(fact.path))
  return (written.length > 0 ? written : all).toSorted((a, b) => size(b) - size(a) || byText(a.path, b.path))
    .slice(0, most.largest).map((fact) => `- ${at(fact)}  ${grouped(size(fact))} lines`)
}

const answerLines = ({ parts, question }: Survey): ReadonlyArray<string> => {
  if (question.words.length === 0) return []
  const sought = question.words.map((word) => `\`${word.text}\``).join(", ")
  const found = answersOf(parts, question)
  return [
    `Found by plain search for ${sought}, best fit first. This is no understanding of the question, and nothing was changed.`,
    "",
    ...(found.length === 0
      ? ["- Nothing matches."]
      : found.slice(0, most.answers).map((match) => `- ${at(match)}  ${oneLine(match.text, 100)}`))
  ]
}

const gapLines = (survey: Survey): ReadonlyArray<string> => {
  const notes = [
    ...new Set([...survey.notes, ...survey.parts.flatMap((part) => part.notes.map((note) => `${part.label}: ${note}`))])
  ]
  const reasons = new Map<string, ReadonlyArray<string>>()
  for (const { label: name, reason, state } of survey.missing) {
    const why = `no full report (${state}): ${oneLine(reason, 200)}`
    reasons.set(why, [...(reasons.get(why) ?? []), name])
  }
  return [
    ...[...reasons].map(([why, names]) => `- ${names.join("; ")}: ${why}`),
    ...notes.slice(0, most.notes).map((note) => `- ${oneLine(note, 200)}`),
    ...more(notes.length, most.notes)
  ]
}

/** Writes the report. */
export const writeReport = (survey: Survey): string => {
  const [todos, todoList] = todoLines(survey)
  const imports = importsOfProject(survey.parts, survey.modules, survey.files, survey.manifests)
  return [
    disclaimer,
    ...opening(survey),
    ...section("Answer", answerLines(survey)),
    ...section("Entry points", entryLines(survey)),
    ...section("Modules", moduleLines(survey)),
    ...section("Dependencies between modules", dependencyLines(imports, survey)),
    ...section("External dependencies, most imported first", outsideLines(imports)),
    ...section("Largest files", largestLines(survey)),
    ...section(`Open TODO and FIXME: ${todos}`, todos === 0 ? ["None found."] : todoList),
    ...section("Not covered", gapLines(survey)),
    ...survey.others.map((other) =>
      `## ${oneLine(other.label, 80)}, in its own words\n\n${other.text.split("\n").slice(0, 60).join("\n")}`
    )
  ].join("\n\n")
}
