/** The format of a part's report: writes it and reads it back. */
import type { Manifest } from "./facts.ts"
import type { Fact } from "./toolbox.ts"

/** The facts about a module. */
export interface ModuleFacts {
  readonly path: string
  readonly files: number
  /** Undefined if they could not be counted. */
  readonly lines: number | undefined
  readonly exports: number | undefined
  /** Languages with their file counts, most frequent first. */
  readonly languages: ReadonlyArray<readonly [language: string, files: number]>
}

/** The imports of one target by one module: their count, and the place of the first. */
export interface Edge {
  readonly path: string
  readonly line: number
  readonly from: string
  /** A module's path, or `npm:…`, `python:…`, `go:…`. */
  readonly to: string
  readonly count: number
  readonly tests: boolean
}

/** The name that a manifest gives its folder. */
export interface Name extends Pick<Manifest, "path" | "line" | "kind" | "name"> {}

/** A line that matches the question. A higher score is better. */
export interface Match extends Fact {
  readonly score: number
}

/** The findings in a part. */
export interface PartReport {
  readonly label: string
  readonly modules: ReadonlyArray<ModuleFacts>
  readonly names: ReadonlyArray<Name>
  readonly purposes: ReadonlyArray<Fact>
  /** `line` is 1; the text tells the lines. */
  readonly largest: ReadonlyArray<Fact>
  readonly entries: ReadonlyArray<Fact>
  readonly edges: ReadonlyArray<Edge>
  readonly todos: ReadonlyArray<Fact>
  /** How many there are in all. */
  readonly todoCount: number
  readonly matches: ReadonlyArray<Match>
  /** What could not be read completely. */
  readonly notes: ReadonlyArray<string>
}

/** A text on one line, no longer than `length`. */
export const oneLine = (text: string, length = 140): string => {
  const plain = text.replace(/\s+/g, " ").trim()
  const points = [...plain]
  return points.length <= length ? plain : `${points.slice(0, length - 1).join("").trimEnd()}…`
}

const number = (value: number | undefined): string => (value === undefined ? "?" : String(value))

const factLine = (fact: Fact): string => `- ${fact.path}:${fact.line}  ${oneLine(fact.text, 200)}`

const section = (heading: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.length === 0 ? [] : [`## ${heading}\n${lines.join("\n")}`]

/** Writes a part's report. */
export const writePart = (report: PartReport): string => {
  const files = report.modules.reduce((sum, module) => sum + module.files, 0)
  return [
    `Survey of ${report.label}, by fixed rules and without AI: ${files} files in ${report.modules.length} modules.`,
    ...section(
      "Modules",
      report.modules.map((module) =>
        `- ${module.path}: ${module.files} files, ${number(module.lines)} lines, ${number(module.exports)} exports; ${
          module.languages.map(([language, count]) => `${language} ${count}`).join(", ")
        }`
      )
    ),
    ...section("Names", report.names.map((name) => `- ${name.path}:${name.line}  ${name.kind} ${name.name}`)),
    ...section("Purpose", report.purposes.map(factLine)),
    ...section("Largest files", report.largest.map(factLine)),
    ...section("Entry points", report.entries.map(factLine)),
    ...section(
      "Imports",
      report.edges.map((edge) =>
        `- ${edge.path}:${edge.line}  ${edge.from} -> ${edge.to}  x${edge.count}${edge.tests ? ", in tests" : ""}`
      )
    ),
    ...section(`Open TODO and FIXME: ${report.todoCount}`, report.todos.map(factLine)),
    ...section(
      "Matches",
      report.matches.map((match) => `- ${match.path}:${match.line}  (${match.score}) ${oneLine(match.text, 200)}`)
    ),
    ...section("Notes", report.notes.map((note) => `- ${oneLine(note, 300)}`))
  ].join("\n\n")
}

const readFacts = (lines: ReadonlyArray<string>): ReadonlyArray<Fact> =>
  lines.flatMap((line) => {
    const match = /^- (.+?):(\d+) {2}(.*)$/.exec(line)
    return match === null ? [] : [{ path: match[1] ?? "", line: Number(match[2]), text: match[3] ?? "" }]
  })

const readNumber = (text: string | undefined): number | undefined => (text === "?" ? undefined : Number(text))

const readModule = (line: string): ReadonlyArray<ModuleFacts> => {
  const match = /^- (.+): (\d+) files, (\d+|\?) lines, (\d+|\?) exports; (.*)$/.exec(line)
  return match === null ? [] : [{
    path: match[1] ?? "",
    files: Number(match[2]),
    lines: readNumber(match[3]),
    exports: readNumber(match[4]),
    languages: (match[5] ?? "").split(", ").flatMap((each) => {
      const at = each.lastIndexOf(" ")
      return at < 0 ? [] : [[each.slice(0, at), Number(each.slice(at + 1))] as const]
    })
  }]
}

const readEdge = ({ line, path, text }: Fact): ReadonlyArray<Edge> => {
  const match = /^(.+) -> (.+?) {2}x(\d+)(, in tests)?$/.exec(text)
  return match === null
    ? []
    : [{ path, line, from: match[1] ?? "", to: match[2] ?? "", count: Number(match[3]), tests: match[4] !== undefined }]
}

const readName = ({ line, path, text }: Fact): ReadonlyArray<Name> => {
  const match = /^(npm|python|go) (.*)$/.exec(text)
  const kind = match?.[1]
  return kind === "npm" || kind === "python" || kind === "go" ? [{ path, line, kind, name: match?.[2] ?? "" }] : []
}

const readMatch = ({ line, path, text }: Fact): ReadonlyArray<Match> => {
  const match = /^\((\d+)\) (.*)$/.exec(text)
  return match === null ? [] : [{ path, line, text: match[2] ?? "", score: Number(match[1]) }]
}

/** Reads a part's report; undefined for any other text, such as another model's answer. */
export const readPart = (text: string): PartReport | undefined => {
  const label = /^Survey of (.+), by fixed rules and without AI: \d+ files in \d+ modules\.$/m.exec(text)?.[1]
  if (label === undefined) return undefined
  const sections = text.split(/^## /m).slice(1).map((each) => each.split("\n"))
  const under = (heading: string): ReadonlyArray<string> =>
    sections.find((lines) => lines[0]?.startsWith(heading))?.slice(1) ?? []
  const facts = (heading: string): ReadonlyArray<Fact> => readFacts(under(heading))
  const todos = facts("Open TODO")
  const counted = /^## Open TODO and FIXME: (\d+)$/m.exec(text)?.[1]
  return {
    label,
    modules: under("Modules").flatMap(readModule),
    names: facts("Names").flatMap(readName),
    purposes: facts("Purpose"),
    largest: facts("Largest files"),
    entries: facts("Entry points"),
    edges: facts("Imports").flatMap(readEdge),
    todos,
    todoCount: counted === undefined ? todos.length : Number(counted),
    matches: facts("Matches").flatMap(readMatch),
    notes: under("Notes").flatMap((line) => (line.startsWith("- ") ? [line.slice(2)] : []))
  }
}
