/** Decides which tools of servers models see in full, and lets them search for the others. */
import { type AnyTool, authorised, define, ToolError } from "@skein/core/Tool"
import { nearest } from "@skein/domain/Lookup"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"

/** How many tokens the tools of all servers may take in each request by default. */
const standard = 8_000

/** A tool and its server. */
export interface Owned {
  readonly server: string
  readonly tool: AnyTool
}

/** The tools, in two parts. */
interface Split {
  readonly shown: ReadonlyArray<Owned>
  readonly searched: ReadonlyArray<Owned>
}

/** About how many tokens a tool takes in a request, at four characters each. */
const tokensOf = ({ describe, inputSchema, name }: AnyTool): number =>
  Math.ceil(JSON.stringify([name, describe, inputSchema]).length / 4)

/**
 * Splits them. Tools of one server work together, so a server is shown whole or not at all: the smallest first, as long as
 * all fit. The order in which servers answer does not matter.
 */
export const splitTools = (tools: ReadonlyArray<Owned>, budget = standard): Split => {
  const sizes = new Map<string, number>()
  for (const { server, tool } of tools) sizes.set(server, (sizes.get(server) ?? 0) + tokensOf(tool))
  let left = budget
  const shown = new Set<string>()
  for (const [server, size] of [...sizes].toSorted(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))) {
    if (size > left) break
    left -= size
    shown.add(server)
  }
  return {
    shown: tools.filter(({ server }) => shown.has(server)),
    searched: tools.filter(({ server }) => !shown.has(server))
  }
}

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

/** How many tools one search returns, and how many characters of them. */
const most = { tools: 8, length: 32_000, names: 200 } as const

const Query = Schema.Struct({
  query: Schema.NonEmptyString.annotations({
    description: "Words for what the tool should do, such as \"create issue\", or the name of a tool"
  })
})

const Calling = Schema.Struct({
  tool: Schema.NonEmptyString.annotations({ description: "The name of a tool that mcp_search returned" }),
  arguments: Schema.optional(
    Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
      description: "Its arguments, as its schema says"
    })
  )
})

const decodeCall = Schema.decodeUnknownEither(Calling)

const serversOf = (tools: ReadonlyArray<Owned>): string => {
  const counts = new Map<string, number>()
  for (const { server } of tools) counts.set(server, (counts.get(server) ?? 0) + 1)
  return [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([server, count]) => `${server} (${count} tools)`).join(", ")
}

const shownOf = ({ tool: { describe, inputSchema, name } }: Owned): string =>
  `${name}\n${typeof describe === "string" ? describe : ""}\n${JSON.stringify(inputSchema)}`

/** What a search tells a model. */
const found = (tools: ReadonlyArray<Owned>, query: string): string => {
  const matches = rank(tools, query)
  if (matches.length === 0) {
    const names = tools.map(({ tool }) => tool.name)
    const more = names.length > most.names ? `, and ${names.length - most.names} more` : ""
    return `No matches. The tools are ${names.slice(0, most.names).join(", ")}${more}.`
  }
  const texts: Array<string> = []
  let length = 0
  for (const match of matches.slice(0, most.tools)) {
    const text = shownOf(match)
    if (texts.length > 0 && length + text.length > most.length) break
    texts.push(text)
    length += text.length
  }
  const rest = matches.slice(texts.length, texts.length + 20).map(({ tool }) => tool.name)
  const others = rest.length === 0 ? "" : `\n\nLess likely: ${rest.join(", ")}.`
  return `Call these with mcp_call.\n\n${texts.join("\n\n")}${others}`
}

const makeSearch = (tools: ReadonlyArray<Owned>): AnyTool =>
  define<typeof Query.Type>({
    name: "mcp_search",
    describe: `Finds tools of these MCP servers, which are not listed here: ${
      serversOf(tools)
    }. Returns their descriptions and the schemas of their arguments. Call what it finds with mcp_call.`,
    parameters: Query,
    effect: "safe",
    title: ({ query }) => query.slice(0, 100),
    authorise: () => Effect.succeed([]),
    execute: ({ query }) =>
      Effect.sync(() => ({ title: query.slice(0, 100), output: found(tools, query), metadata: {} }))
  })

const makeCall = (tools: ReadonlyArray<Owned>): AnyTool => {
  const byName = new Map(tools.map(({ tool }) => [tool.name, tool]))
  const named = (name: string) => {
    const tool = byName.get(name)
    if (tool !== undefined) return Effect.succeed(tool)
    const near = nearest(name, [...byName.keys()])
    const meant = near === undefined ? "Find one with mcp_search." : `Did you mean ${near}?`
    return new ToolError({
      kind: "unknown_tool",
      message: `There is no tool ${JSON.stringify(name.slice(0, 64))}. ${meant}`
    })
  }
  return define<typeof Calling.Type, unknown>({
    name: "mcp_call",
    describe: "Calls a tool that mcp_search found.",
    parameters: Calling,
    effect: "never",
    calls: (input) => {
      const call = Either.getOrUndefined(decodeCall(input))
      const tool = call && byName.get(call.tool)
      return tool && {
        tool,
        input: call.arguments ?? {},
        withInput: (changed) => ({ ...call, arguments: changed })
      }
    },
    title: ({ arguments: given = {}, tool }) => byName.get(tool)?.title(given) ?? tool.slice(0, 100),
    // What it needs is what the tool itself needs, so that rules name that tool.
    authorise: ({ arguments: given = {}, tool }, caller) =>
      Effect.flatMap(named(tool), ({ authorise }) => Effect.map(authorise(given, caller), authorised)),
    execute: ({ arguments: given = {}, tool }, context, plan) =>
      Effect.flatMap(named(tool), ({ execute }) => execute(given, context, plan))
  })
}

/** Makes both, for these tools. */
export const makeSearchTools = (tools: ReadonlyArray<Owned>): ReadonlyArray<AnyTool> =>
  tools.length === 0 ? [] : [makeCall(tools), makeSearch(tools)]
