/** Ranks entry points, and answers to a question. */
import { baseName, byText } from "../language.ts"
import type { Fact } from "../outputs.ts"
import type { Match, PartReport } from "../partReport.ts"
import type { Question } from "../words.ts"

const at = (fact: Fact): string => `${fact.path}:${fact.line}`

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
export const entryPointsOf = (parts: ReadonlyArray<PartReport>): ReadonlyArray<Fact> => {
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
export const answersOf = (parts: ReadonlyArray<PartReport>, { entry, words }: Question): ReadonlyArray<Match> => {
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
