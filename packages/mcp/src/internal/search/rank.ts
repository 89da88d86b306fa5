/** Decides which tools a search finds, and in which order. */
import type { Owned } from "./budget.ts"

/** The words of a text, and the parts of names such as `createIssue` or `create_issue`. */
const wordsOf = (
  text: string
): ReadonlyArray<
  string
> => (text.replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2").toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])

const isAlike = (a: string, b: string): boolean =>
  a === b || (Math.min(a.length, b.length) > 3 && (a.startsWith(b) || b.startsWith(a)))

/** How well words fit: names count more than descriptions. */
const scoreOf = ({ tool: { describe, inputSchema, name } }: Owned, wanted: ReadonlyArray<string>): number => {
  const places: ReadonlyArray<readonly [words: ReadonlyArray<string>, worth: number]> = [
    [wordsOf(name).filter((word) => word !== "mcp"), 4],
    [wordsOf(typeof describe === "string" ? describe : ""), 1],
    [wordsOf(Object.keys(Object(inputSchema?.["properties"])).join(" ")), 1]
  ]
  return wanted.reduce(
    (sum, word) =>
      sum + places.reduce((most, [words, worth]) => most + (words.some((each) => isAlike(each, word)) ? worth : 0), 0),
    0
  )
}

/** The tools that a query finds, best first; one that is named in full comes before all. */
export const rank = (tools: ReadonlyArray<Owned>, query: string): ReadonlyArray<Owned> => {
  const wanted = [...new Set(wordsOf(query))]
  const named = new Set(query.split(/[\s,]+/))
  return tools.map((owned) => ({
    owned,
    score: (named.has(owned.tool.name) ? 1_000 : 0) + scoreOf(owned, wanted)
  }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score || (a.owned.tool.name < b.owned.tool.name ? -1 : 1))
    .map(({ owned }) => owned)
}
