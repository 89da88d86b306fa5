/** Decides which lines are entry points, exports, or open TODOs. */
import { baseName, familyOf, isGenerated, isTest, languageOf } from "../language.ts"
import type { Fact, SourceLine } from "../outputs.ts"
import { insideString } from "./imports.ts"

/** Finds entry points. */
export const entryPattern =
  `^#!|^func main\\(\\)|__name__\\s*==|\\brunMain\\s*\\(|\\.listen\\s*\\(|\\bcreateRoot\\s*\\(|\\brequire\\.main\\b|\\bimport\\.meta\\.main\\b|\\bprocess\\.argv\\b|=\\s*(FastAPI|Flask)\\(`

/** Finds TODOs. */
export const todoPattern = `\\b(TODO|FIXME|HACK|XXX)\\b`

/** Finds exports. */
export const exportPattern =
  `^export\\s|^(module\\.)?exports\\b|^(async\\s+)?def [A-Za-z]|^class [A-Za-z]|^func (\\([^)]*\\) )?[A-Z]|^type [A-Z]`

const entryRules: ReadonlyArray<readonly [family: string, pattern: RegExp, says: string]> = [
  ["go", /^func main\(\)/, "main function"],
  ["python", /^if\s+__name__\s*==\s*["']__main__["']/, "runs as a script"],
  ["python", /=\s*FastAPI\(/, "FastAPI application"],
  ["python", /=\s*Flask\(/, "Flask application"],
  ["js", /\brunMain\s*\(/, "runs the program"],
  ["js", /\b(app|server|https?|fastify|express|koa|api|io)\.listen\s*\(/i, "server listens"],
  ["js", /\bcreateRoot\s*\(/, "renders the page"],
  ["js", /\brequire\.main\s*===?\s*module|\bmodule\s*===?\s*require\.main/, "runs as a script"],
  ["js", /\bimport\.meta\.main\b/, "runs as a script"],
  ["js", /\bprocess\.argv\b/, "reads the command line"]
]

const entryOf = (at: SourceLine, rules: typeof entryRules): Fact | undefined => {
  if (at.line === 1 && at.text.startsWith("#!")) {
    const program = /^#!\s*(?:\S*\/env\s+(?:-\S+\s+)*)?(\S+)/.exec(at.text)?.[1]
    return program === undefined ? undefined : { ...at, text: `executable, run by ${baseName(program)}` }
  }
  if (/^\s*(\/\/|\*|\/\*|#)/.test(at.text)) return undefined
  for (const [, pattern, says] of rules) {
    const match = pattern.exec(at.text)
    if (match !== null && !insideString(at.text.slice(0, match.index))) return { ...at, text: says }
  }
  return undefined
}

/** The entry points in lines of one file. */
export const entriesOf = (lines: ReadonlyArray<SourceLine>): ReadonlyArray<Fact> => {
  const path = lines[0]?.path
  if (path === undefined || isTest(path) || isGenerated(path)) return []
  const family = familyOf(path)
  const rules = entryRules.filter(([of]) => of === family)
  const entries = lines.flatMap((at) => entryOf(at, rules) ?? [])
  // Report each kind of entry point once per file.
  return entries.filter((entry, index) => entries.findIndex((other) => other.text === entry.text) === index)
}

const slashes = /\/\/|\/\*|(?<=^\s*)\*/g
const hashes = /#/g
const dashes = /--/g
const angle = /<!--/g

const markers = new Map<string, RegExp>([
  ["Python", hashes],
  ["Ruby", hashes],
  ["Shell", hashes],
  ["YAML", hashes],
  ["TOML", hashes],
  ["Elixir", hashes],
  ["SQL", dashes],
  ["Haskell", dashes],
  ["Lua", dashes],
  ["HTML", angle],
  ["Vue", /<!--|\/\/|\/\*/g],
  ["Svelte", /<!--|\/\/|\/\*/g],
  ["Markdown", /<!--|^\s*[-*>]?\s*(\[ \]\s*)?(?=TODO|FIXME)/g],
  ["Text", /^\s*[-*]?\s*(?=TODO|FIXME)/g],
  ["PHP", /\/\/|\/\*|#|(?<=^\s*)\*/g],
  ["other", /#|\/\/|\/\*/g]
])

const mentions = /\b(TODO|FIXME|HACK|XXX)\b/
const keyword = /^[\s*#/!-]*(TODO|FIXME|HACK|XXX)\b(?!["'`|/])|\b(TODO|FIXME|HACK|XXX)(\([^)]*\))?:/

const todoOf = (at: SourceLine, comment: RegExp): Fact | undefined => {
  if (!mentions.test(at.text)) return undefined
  for (const marker of at.text.matchAll(comment)) {
    const said = at.text.slice(marker.index + marker[0].length)
    const found = keyword.exec(said)
    // `://` is part of a URL, and after an open quote the marker is part of a string.
    if (found === null || at.text[marker.index - 1] === ":" || insideString(at.text.slice(0, marker.index))) continue
    return { ...at, text: said.slice(said.search(mentions)).replace(/\s*(\*\/|-->)\s*$/, "").trim() }
  }
  return undefined
}

/** The TODOs in comments of one file. Strings do not count. */
export const todosOf = (lines: ReadonlyArray<SourceLine>): ReadonlyArray<Fact> => {
  const path = lines[0]?.path
  if (path === undefined || isGenerated(path)) return []
  const comment = markers.get(languageOf(path)) ?? slashes
  return lines.flatMap((at) => todoOf(at, comment) ?? [])
}
