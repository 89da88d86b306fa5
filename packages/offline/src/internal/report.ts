/** Writes the report of a survey: the parts put together, and what they say of the whole project. */
import { type Brief, type Statement, statements } from "./explore.ts"
import {
  baseName,
  byText,
  folderOf,
  isCode,
  isCodeLanguage,
  label,
  languageOf,
  type Module,
  ownerIn,
  targetIn,
  withoutExtension
} from "./project.ts"
import type { Manifest, readIntroduction } from "./reading.ts"
import { type Fact, oneLine } from "./toolbox.ts"

/** Says that no AI wrote the answer. */
export const disclaimer =
  "> No AI wrote this. `offline/survey` follows fixed rules over glob, grep and read, and understands nothing of what it reads."

/** A subagent without a full report. */
export interface Missing {
  readonly label: string
  readonly state: string
  readonly reason: string
}

/** A conclusion that is no report of a part. */
export interface Quoted {
  readonly label: string
  readonly text: string
}

/** The input of a report. */
interface Survey {
  readonly words: Brief["words"]
  readonly asksForEntry: boolean
  readonly modules: ReadonlyArray<Module>
  readonly parts: ReadonlyArray<{ readonly label: string; readonly facts: ReadonlyArray<Statement> }>
  /** All files of the project. */
  readonly files: ReadonlyArray<string>
  readonly manifests: ReadonlyArray<Manifest>
  readonly introduction: ReturnType<typeof readIntroduction>
  /** The number of subagents; 0 if the agent surveyed alone. */
  readonly sent: number
  readonly missing: ReadonlyArray<Missing>
  readonly quoted: ReadonlyArray<Quoted>
  readonly notes: ReadonlyArray<string>
}

const most = { arrows: 48, outside: 10, todos: 10, entries: 14, largest: 5, answers: 12, notes: 8, tests: 6, places: 3 }

const grouped = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ",")

const count = (value: number, one: string): string => `${grouped(value)} ${one}${value === 1 ? "" : "s"}`

const at = (fact: { readonly path: string; readonly line: number }): string => `${fact.path}:${fact.line}`

const sum = (values: ReadonlyArray<number>): number => values.reduce((total, value) => total + value, 0)

/** The first few of all, and how many more there are. */
const shorten = (lines: ReadonlyArray<string>, limit: number, all = lines.length): ReadonlyArray<string> => {
  const shown = lines.slice(0, limit)
  return all > shown.length ? [...shown, `- … and ${all - shown.length} more`] : shown
}

const joined = (names: ReadonlyArray<string>, limit: number): string =>
  `${names.slice(0, limit).join(", ")}${names.length > limit ? ` and ${names.length - limit} more` : ""}`

/** Resolves an import by name: a module's path, `""` for an unknown place in the project, undefined for outside. */
const resolverOf = (survey: Survey, facts: ReadonlyArray<Statement>) => {
  const paths = survey.modules.map((module) => module.path)
  const owner = ownerIn(paths)
  const target = targetIn(paths)
  const named = (kind: Manifest["kind"]) =>
    [
      ...statements(facts, kind),
      ...survey.manifests.flatMap((each) => each.kind === kind ? [{ ...each, text: each.name }] : [])
    ]
      .filter(({ text }) => text !== "")
  const npm = new Map(named("npm").map(({ path, text }) => [text, path]))
  const go = named("go").toSorted((a, b) => b.text.length - a.text.length)
  // Where Python looks: the top, usual folders, and the folders of projects.
  const homes = named("python").map(({ path }) => folderOf(path))
  const roots = ["", "src", "lib", "python", ...homes, ...homes.map((home) => (home === "" ? "src" : `${home}/src`))]
  const places = new Set(survey.files.flatMap((file) => {
    const above = file.split("/").map((_, index, names) => names.slice(0, index).join("/"))
    return file.endsWith(".py") ? [withoutExtension(file), ...above] : above
  }))
  const above = (file: string): ReadonlyArray<string> => file === "" ? [] : [file, ...above(folderOf(file))]
  return (to: string, importer: string): string | undefined => {
    const [, kind, name = ""] = /^(npm|python|go):(.*)$/.exec(to) ?? []
    if (kind === undefined) return to
    if (kind === "npm") {
      const home = npm.get(name)
      if (home !== undefined) return owner(home)
      // With a base URL of `src` or the top, an import that looks like a package is a folder.
      const folder = [`src/${name}`, name].find((path) => places.has(path))
      return folder === undefined ? undefined : target(folder)
    }
    if (kind === "go") {
      const home = go.find(({ text }) => name === text || name.startsWith(`${text}/`))
      // An invented file name, to find the module of the files directly in that folder.
      return home && target([folderOf(home.path), name.slice(home.text.length + 1), "doc.go"].filter(Boolean).join("/"))
    }
    const parts = name.split(".")
    for (const root of new Set([...roots, ...above(folderOf(importer))])) {
      for (let length = parts.length; length > 0; length--) {
        const path = [...(root === "" ? [] : [root]), ...parts.slice(0, length)].join("/")
        // The last name may be a member of the module. If more is left, the survey did not look at that module.
        if (places.has(path)) return parts.length - length > 1 ? "" : target(path)
      }
    }
    return undefined
  }
}

/** The name of the package to install for an import. */
const dependencyOf = (to: string): string => {
  const [, kind, name = ""] = /^(\w+):(.*)$/.exec(to) ?? []
  if (kind === "python") return name.split(".")[0] ?? name
  if (kind !== "go") return name
  const isLong = /^(github\.com|gitlab\.com|bitbucket\.org|golang\.org|google\.golang\.org\/genproto)\//.test(name)
  return name.split("/").slice(0, isLong ? 3 : 2).join("/")
}

/** An arrow between modules, or from the project to something outside; `path` and `line` are those of the first import. */
interface Arrow extends Omit<Extract<Statement, { readonly kind: "import" }>, "kind"> {}

/** Arrows between the same two become one; those that only tests have are apart. */
const joinArrows = (all: ReadonlyArray<Arrow>) => {
  const join = (arrows: ReadonlyArray<Arrow>): ReadonlyArray<Arrow> =>
    [...Map.groupBy(arrows, ({ from, to }) => `${from}\n${to}`).values()].flatMap((same) => {
      const [first] = same.toSorted((a, b) => byText(a.path, b.path))
      return first === undefined ? [] : [{ ...first, count: sum(same.map((arrow) => arrow.count)) }]
    }).toSorted((a, b) => byText(a.from, b.from) || b.count - a.count || byText(a.to, b.to))
  const used = join(all.filter((arrow) => !arrow.tests))
  const isUsed = ({ from, to }: Arrow): boolean => used.some((arrow) => arrow.from === from && arrow.to === to)
  return { used, inTests: join(all.filter((arrow) => arrow.tests)).filter((arrow) => !isUsed(arrow)) }
}

/** The modules that can be reached from each module. */
const reachable = (arrows: ReadonlyArray<Arrow>): ReadonlyMap<string, ReadonlySet<string>> => {
  const next = Map.groupBy(arrows, ({ from }) => from)
  return new Map([...next.keys()].map((from) => {
    const seen = new Set<string>()
    const open = [from]
    for (let each = open.pop(); each !== undefined; each = open.pop()) {
      for (const { to } of next.get(each) ?? []) {
        if (!seen.has(to)) open.push(to)
        seen.add(to)
      }
    }
    return [from, seen]
  }))
}

const dependencyLines = (
  { modules }: Survey,
  { inTests, used }: ReturnType<typeof joinArrows>
): ReadonlyArray<string> => {
  const paths = modules.map((module) => module.path)
  const last = (path: string): string => baseName(label(path))
  const counts = Map.groupBy(paths, last)
  const short = (path: string): string =>
    counts.get(last(path))?.length === 1 && last(path) !== "*" ? last(path) : label(path)
  const reach = reachable(used)
  const isRound = (a: string, b: string): boolean => reach.get(a)?.has(b) === true && reach.get(b)?.has(a) === true
  const rounds = paths.filter((path) => isRound(path, path)).map((path) =>
    paths.filter((other) => isRound(path, other))
  )
    .filter((round, index, all) => all.findIndex(([first]) => first === round[0]) === index)
  // A module is drawn above what it imports: it reaches all of that, and itself.
  const touched = paths.filter((path) => used.some(({ from, to }) => from === path || to === path))
    .toSorted((a, b) => (reach.get(b)?.size ?? 0) - (reach.get(a)?.size ?? 0) || byText(a, b))
  const each = touched.length + used.length <= most.arrows
    ? used.length
    : Math.max(1, Math.floor((most.arrows - 2 * touched.length) / touched.length))
  const width = Math.max(0, ...used.map(({ to }) => short(to).length))
  const digits = Math.max(0, ...used.map((arrow) => String(arrow.count).length))
  const drawn = touched.flatMap((path) => {
    const own = used.filter((arrow) => arrow.from === path)
    const rest = own.slice(each).map((arrow) => short(arrow.to))
    return [
      short(path),
      ...own.slice(0, each).map((arrow) =>
        `  -> ${short(arrow.to).padEnd(width)}  ${String(arrow.count).padStart(digits)}x  ${at(arrow)}`
      ),
      ...(rest.length === 0 ? [] : [`  -> also ${joined(rest, 6)}`])
    ]
  })
  const notes = [
    ...(drawn.length === 0 && paths.length > 1 ? ["- No module was seen to import another."] : []),
    ...rounds.map((round) => `- Folders that import each other: ${joined(round.map(short), 8)}`),
    ...shorten(
      inTests.map((arrow) => `- In tests only: ${short(arrow.from)} -> ${short(arrow.to)} (${at(arrow)})`),
      most.tests
    )
  ]
  return [
    ...(drawn.length === 0 ? [] : ["```text", ...drawn, "```"]),
    ...(drawn.length > 0 && notes.length > 0 ? [""] : []),
    ...notes
  ]
}

const starts = [
  /^command /,
  /^(main function|runs |python -m|renders)/,
  /application$|^server /,
  /^npm /,
  /^(executable|reads the command line)/,
  /^library/
]
const rankOf = (text: string): number => starts.findIndex((pattern) => pattern.test(text))

/** Distinct entry points, those that people start first. */
const entryPointsOf = (facts: ReadonlyArray<Statement>): ReadonlyArray<Fact> => {
  const all = statements(facts, "entry")
  const targets = new Set(all.map((fact) => /^command \S+ -> (\S+)$/.exec(fact.text)?.[1]))
  const isTop = all.some((fact) => fact.path === "package.json" && fact.text.startsWith("npm "))
  // Folders that support the project come last.
  const isAside = (path: string): number => Number(/(^|\/)(scripts?|bench(marks?)?|examples?|docs?)\//.test(path))
  return all.filter((fact, index) =>
    all.findIndex((other) => at(other) === at(fact) && other.text === fact.text) === index
    && !(fact.text.startsWith("executable") && targets.has(fact.path))
    && !(fact.text === "runs as a script" && baseName(fact.path) === "__main__.py")
    && !(isTop && fact.text.startsWith("npm ") && fact.path !== "package.json")
  ).toSorted((a, b) =>
    rankOf(a.text) - rankOf(b.text) || isAside(a.path) - isAside(b.path)
    || a.path.split("/").length - b.path.split("/").length || byText(a.path, b.path) || a.line - b.line
  )
}

/** The best matching lines, and entry points if the prompt asks for one. */
const answerLines = (survey: Survey, facts: ReadonlyArray<Statement>): ReadonlyArray<string> => {
  if (survey.words.length === 0) return []
  const words = survey.words.map((word) => word.text.toLowerCase())
  const entries = entryPointsOf(facts).flatMap((fact) => {
    const hits = words.filter((word) => `${fact.path} ${fact.text}`.toLowerCase().includes(word)).length
    return hits === 0 ? [] : [{ ...fact, score: hits * 6 + (survey.asksForEntry ? 20 - 2 * rankOf(fact.text) : 0) }]
  })
  const best = [...entries, ...statements(facts, "match")]
    .toSorted((a, b) => b.score - a.score || byText(a.path, b.path) || a.line - b.line)
    .filter((match, index, all) => all.findIndex((other) => at(other) === at(match)) === index)
  return [
    `Found by plain search for ${
      survey.words.map((word) => `\`${word.text}\``).join(", ")
    }, best fit first. This is no understanding of the question, and nothing was changed.`,
    "",
    ...(best.length === 0
      ? ["- Nothing matches."]
      : best.slice(0, most.answers).map((match) => `- ${at(match)}  ${oneLine(match.text, 100)}`))
  ]
}

/** A table in Markdown whose columns line up; those named in `right` hold numbers. */
const table = (rows: ReadonlyArray<ReadonlyArray<string>>, right: ReadonlySet<number>): ReadonlyArray<string> => {
  const safe = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")))
  const widths = (safe[0] ?? []).map((_, column) => Math.max(...safe.map((row) => [...(row[column] ?? "")].length)))
  const pad = (cell: string, column: number): string => {
    const space = " ".repeat((widths[column] ?? 0) - [...cell].length)
    return right.has(column) ? space + cell : cell + space
  }
  const rule = widths.map((width, column) => (right.has(column) ? `${"-".repeat(width - 1)}:` : "-".repeat(width)))
  return [safe[0] ?? [], rule, ...safe.slice(1)].map((cells) => `| ${cells.map(pad).join(" | ")} |`)
}

const moduleLines = ({ modules }: Survey, facts: ReadonlyArray<Statement>): ReadonlyArray<string> => {
  const known = new Map(statements(facts, "module").map((module) => [module.path, module]))
  const owner = ownerIn(modules.map((module) => module.path))
  const whatIs = (module: string): string => {
    const purpose = statements(facts, "purpose").find((fact) => owner(fact.path) === module)
    if (purpose !== undefined) {
      // Without the part of the path that the row already shows.
      const isBelow = module.endsWith("/") && module !== "./" && purpose.path.startsWith(module)
      const place = isBelow
        ? at(purpose).slice(module.length)
        : module === purpose.path
        ? `line ${purpose.line}`
        : at(purpose)
      return `${oneLine(purpose.text.replace(/\.$/, ""), 58)} (${place})`
    }
    const name = [...statements(facts, "npm"), ...statements(facts, "python"), ...statements(facts, "go")]
      .find((fact) => owner(fact.path) === module)?.text
    const large = statements(facts, "file").filter(({ path }) => owner(path) === module && path !== module)
      .map(({ path }) => baseName(withoutExtension(path)))
    return [name, oneLine([...new Set(large)].join(", "), 50)].filter(Boolean).join(": ")
  }
  const rows = modules.map(({ files, path }) => {
    const module = known.get(path)
    const languages = module?.languages.map(([name]) => name) ?? files.map(languageOf)
    return [
      label(path),
      grouped(files.length),
      module === undefined ? "?" : grouped(module.lines),
      module === undefined ? "?" : languages.some(isCodeLanguage) ? grouped(module.exports) : "-",
      languages.find(isCodeLanguage) ?? languages.find((name) => name !== "other") ?? "-",
      module === undefined ? "not surveyed" : whatIs(path)
    ]
  })
  return table([["module", "files", "lines", "exports", "mostly", "what it is"], ...rows], new Set([1, 2, 3]))
}

const kinds = { npm: "npm package", python: "Python project", go: "Go module" }

/** The project in its own words. */
const opening = (survey: Survey, facts: ReadonlyArray<Statement>): ReadonlyArray<string> => {
  const { introduction, manifests, missing, modules, sent } = survey
  const said = introduction.text ?? manifests.flatMap(({ description }) => description ?? [])[0]
  const surveyed = statements(facts, "module")
  const languages = Map.groupBy(surveyed.flatMap((module) => module.languages), ([language]) => language)
  const read = [...languages].map(([name, all]) => ({ name, files: sum(all.map(([, files]) => files)) }))
    .filter(({ name }) => isCodeLanguage(name)).toSorted((a, b) => b.files - a.files || byText(a.name, b.name))
  const back = sent - missing.length
  return [
    `# ${oneLine(introduction.title?.text ?? (manifests[0]?.name || "Survey"), 80)}`,
    ...(said === undefined ? [] : [`${oneLine(said.text, 240)} (${at(said)})`]),
    [
      ...manifests.map((each) =>
        [kinds[each.kind], ...(each.name === "" ? [] : [each.name])].join(" ")
        + `${each.workspace ? ", a workspace" : ""} (${at(each)})`
      ),
      joined(read.map(({ name }) => name), 6) || "no program text",
      `${count(modules.length, "module")}, ${count(sum(modules.map(({ files }) => files.length)), "file")}, ${
        surveyed.length < modules.length ? "at least " : ""
      }${count(sum(surveyed.map(({ lines }) => lines)), "line")}`,
      sent === 0
        ? "surveyed without subagents"
        : `surveyed by ${back === sent ? "" : `${back} of `}${count(sent, "subagent")}${sent > 1 ? " in parallel" : ""}`
    ].map((line) => `- ${line}`).join("\n")
  ]
}

const gapLines = ({ missing, notes, parts }: Survey): ReadonlyArray<string> => {
  const all = new Set([
    ...notes,
    ...parts.flatMap(({ facts, label: name }) =>
      statements(facts, "note").map(({ text }) => name === "" ? text : `${name}: ${text}`)
    )
  ])
  const reasons = Map.groupBy(missing, ({ reason, state }) => `no full report (${state}): ${oneLine(reason, 200)}`)
  return [
    ...[...reasons].map(([why, those]) => `- ${those.map((each) => each.label).join("; ")}: ${why}`),
    ...shorten([...all].map((note) => `- ${oneLine(note, 200)}`), most.notes)
  ]
}

/** Writes the report. */
export const writeReport = (survey: Survey): string => {
  const facts = survey.parts.flatMap((part) => part.facts)
  const resolve = resolverOf(survey, facts)
  const imports = statements(facts, "import").map((each) => ({ ...each, module: resolve(each.to, each.path) }))
  const between = joinArrows(
    imports.flatMap(({ module, ...each }) =>
      module === undefined || module === "" || module === each.from ? [] : [{ ...each, to: module }]
    )
  )
  const beyond = joinArrows(
    imports.flatMap(({ module, ...each }) =>
      module === undefined ? [{ ...each, from: each.to.slice(0, each.to.indexOf(":")), to: dependencyOf(each.to) }] : []
    )
  )
  const often = (arrows: ReadonlyArray<Arrow>) => arrows.toSorted((a, b) => b.count - a.count || byText(a.to, b.to))
  const written = statements(facts, "file").filter(({ path }) => isCode(path))
  const largest = (written.length > 0 ? written : statements(facts, "file"))
    .toSorted((a, b) => b.lines - a.lines || byText(a.path, b.path)).slice(0, most.largest)
  const todos = statements(facts, "todo").toSorted((a, b) => byText(a.path, b.path) || a.line - b.line)
  const todoCount = sum(statements(facts, "module").map((module) => module.todos))
  const section = (heading: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
    lines.length === 0 ? [] : [`## ${heading}\n\n${lines.join("\n")}`]
  return [
    disclaimer,
    ...opening(survey, facts),
    ...section("Answer", answerLines(survey, facts)),
    ...section(
      "Entry points",
      shorten(
        [...Map.groupBy(entryPointsOf(facts), (fact) => fact.text)].map(([text, same]) =>
          `- ${oneLine(text, 90)} (${joined(same.map(at), most.places)})`
        ),
        most.entries
      )
    ),
    ...section("Modules", moduleLines(survey, facts)),
    ...section("Dependencies between modules", dependencyLines(survey, between)),
    ...section("External dependencies, most imported first", [
      ...shorten(
        often(beyond.used).map((arrow) => `- ${arrow.to}: ${count(arrow.count, "import")} (first: ${at(arrow)})`),
        most.outside
      ),
      ...shorten(often(beyond.inTests).map((arrow) => `- In tests only: ${arrow.to} (${at(arrow)})`), most.tests)
    ]),
    ...section("Largest files", largest.map(({ lines, path }) => `- ${path}:1  ${grouped(lines)} lines`)),
    ...section(
      `Open TODO and FIXME: ${todoCount}`,
      todoCount === 0
        ? ["None found."]
        : shorten(todos.map((fact) => `- ${at(fact)}  ${oneLine(fact.text, 90)}`), most.todos, todoCount)
    ),
    ...section("Not covered", gapLines(survey)),
    ...survey.quoted.map((other) =>
      `## ${oneLine(other.label, 80)}, in its own words\n\n${other.text.split("\n").slice(0, 60).join("\n")}`
    )
  ].join("\n\n")
}
