/** The tools `mcp_resource` and `mcp_prompt`: what servers have besides tools. */
import { type AnyTool, define, ToolError } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Connection } from "./connect.ts"
import { answerOf, cleanLine } from "./content.ts"
import { wordsOf } from "./failure.ts"
import type { Server } from "./Server.ts"

/** How long a server may take, in milliseconds. */
const patience = 60_000

/** How many resources are listed. */
const most = 500

const refused = (kind: string, message: string) => new ToolError({ kind, message })

const offering = (servers: ReadonlyArray<Server>, what: string): ReadonlyArray<Server> =>
  servers.filter((server) => server.offers().has(what))

interface Options {
  readonly signal: AbortSignal
  readonly timeout: number
}

/** Asks a server something. */
const asked = <A>(
  servers: ReadonlyArray<Server>,
  name: string,
  ask: (connection: Connection, options: Options) => Promise<A>
): Effect.Effect<A, ToolError> =>
  Effect.suspend(() => {
    const server = servers.find(({ target }) => target.name === name)
    if (server === undefined) {
      const names = servers.map(({ target }) => target.name).join(", ")
      return refused("not_found", `There is no MCP server ${JSON.stringify(name)} with that. Servers: ${names}.`)
    }
    const state = server.state()
    if (state._tag !== "Ready") {
      const why = state._tag === "Failed" ? state.message : "it is being started"
      return refused("mcp_unavailable", `The MCP server ${name} cannot be used now: ${why}.`)
    }
    const { connection } = state
    return Effect.tryPromise({
      try: (signal) => ask(connection, { signal, timeout: patience }),
      catch: (cause) =>
        refused(
          "mcp_failed",
          `The MCP server ${name} did not answer as it should: ${
            connection.whyEnded() ?? server.target.host.redact(wordsOf(cause))
          }`
        )
    })
  })

const Reading = Schema.Struct({
  server: Schema.NonEmptyString.annotations({ description: "The name of the server" }),
  uri: Schema.optional(
    Schema.NonEmptyString.annotations({ description: "The resource to read; without it, the resources are listed" })
  )
})

const lineOf = (uri: string, name: string, description: string | undefined): string =>
  cleanLine(`${uri}  ${name}${description === undefined ? "" : `: ${description}`}`, 500)

/** The resources of a server, one a line, and the templates for more. */
const listed = async ({ client, leftOut }: Connection, options: Options) => {
  const { resources } = await client.listResources(undefined, options)
  // Many servers have no templates, and refuse to list them.
  const { resourceTemplates } = await client.listResourceTemplates(undefined, options).catch(() => ({
    resourceTemplates: []
  }))
  const lines = [
    ...resources.map(({ description, name, uri }) => lineOf(uri, name, description)),
    ...resourceTemplates.map(({ description, name, uriTemplate }) => lineOf(uriTemplate, name, description))
  ]
  const more = [
    ...(lines.length > most ? [`${lines.length - most} more are left out`] : []),
    ...leftOut("resources/list"),
    ...leftOut("resources/templates/list")
  ].map((note) => `[${note}]`)
  return lines.length === 0 ? "There are no resources." : [...lines.slice(0, most), ...more].join("\n")
}

/** Lists and reads resources. None where no server has some. */
const makeResource = (servers: ReadonlyArray<Server>): AnyTool =>
  define<typeof Reading.Type>({
    name: "mcp_resource",
    describe: `Lists the resources of an MCP server, or reads one by its URI. Servers with resources: ${
      servers.map(({ target }) => target.name).join(", ")
    }.`,
    parameters: Reading,
    effect: "safe",
    title: ({ server, uri }) => `${server}: ${cleanLine(uri ?? "resources", 100)}`,
    authorise: ({ server, uri }) =>
      Effect.succeed([{
        permission: "mcp_resource",
        patterns: [`${server}:${uri ?? ""}`],
        always: [`${server}:*`],
        metadata: { server, ...(uri === undefined ? {} : { uri }) }
      }]),
    execute: ({ server, uri }) =>
      Effect.gen(function*() {
        const title = `${server}: ${cleanLine(uri ?? "resources", 100)}`
        if (uri === undefined) return { title, output: yield* asked(servers, server, listed), metadata: { server } }
        const { contents } = yield* asked(
          servers,
          server,
          ({ client }, options) => client.readResource({ uri }, options)
        )
        const { attachments, text } = answerOf(contents.map((resource) => ({ type: "resource", resource })))
        return {
          title,
          output: text === "" && attachments.length === 0 ? "The resource is empty." : text,
          metadata: { server },
          ...(attachments.length === 0 ? {} : { attachments })
        }
      })
  })

const Prompting = Schema.Struct({
  server: Schema.NonEmptyString,
  name: Schema.NonEmptyString,
  words: Schema.Array(Schema.String)
})

/** The arguments of a prompt: one word each, and the rest for the last. */
const argumentsOf = (names: ReadonlyArray<string>, words: ReadonlyArray<string>): Readonly<Record<string, string>> =>
  Object.fromEntries(names.flatMap((name, at) => {
    const given = at === names.length - 1 ? words.slice(at).join(" ") : words[at] ?? ""
    return given === "" ? [] : [[name, given]]
  }))

/** Gets the prompt of a server for a person who wrote `/mcp:server:name`. Models are not offered it. */
const makePrompt = (servers: ReadonlyArray<Server>): AnyTool =>
  define<typeof Prompting.Type>({
    name: "mcp_prompt",
    describe: () => Effect.succeed(undefined),
    parameters: Prompting,
    effect: "safe",
    title: ({ name, server }) => `${server}: ${cleanLine(name, 100)}`,
    authorise: (_, { byUser }) =>
      byUser ? Effect.succeed([]) : refused("denied", "Only a person can use the prompts of MCP servers."),
    execute: ({ name, server, words }) =>
      Effect.gen(function*() {
        const { prompts } = yield* asked(
          servers,
          server,
          ({ client }, options) => client.listPrompts(undefined, options)
        )
        const found = prompts.find((each) => each.name === name)
        if (found === undefined) {
          const names = prompts.map((each) => cleanLine(each.name, 100)).join(", ")
          return yield* refused("unknown_prompt", `The MCP server ${server} has no such prompt. It has ${names}.`)
        }
        const wanted = found.arguments ?? []
        const given = argumentsOf(wanted.map((each) => each.name), words)
        const missing = wanted.filter((each) => each.required === true && given[each.name] === undefined)
        if (missing.length > 0) {
          const names = wanted.map((each) => cleanLine(each.name, 100)).join(" ")
          return yield* refused("invalid_arguments", `The prompt needs more words after it: ${names}`)
        }
        const { messages } = yield* asked(
          servers,
          server,
          ({ client }, options) => client.getPrompt({ name, arguments: given }, options)
        )
        const { attachments, text } = answerOf(messages.map(({ content }) => content))
        return { title: `${server}: ${cleanLine(name, 100)}`, output: text, metadata: { server }, attachments }
      })
  })

/** Makes those that servers have something for. */
export const makeServerRequests = (all: ReadonlyArray<Server>): ReadonlyArray<AnyTool> => {
  const resources = offering(all, "resources")
  const prompts = offering(all, "prompts")
  return [
    ...(resources.length === 0 ? [] : [makeResource(resources)]),
    ...(prompts.length === 0 ? [] : [makePrompt(prompts)])
  ]
}
