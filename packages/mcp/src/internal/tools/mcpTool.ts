/** A tool of a server as a tool of Skein. */
import type { CallToolResult, Tool as ServerTool } from "@modelcontextprotocol/client"
import { type AnyTool, define, type PermissionAsk, type ToolContext, ToolError } from "@skein/core/Tool"
import type { McpServerConfig } from "@skein/domain/McpConfig"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { cleanLine, cleanText } from "../cleanText.ts"
import { wordsOf } from "../failure.ts"
import type { RawSchema } from "../listing/inputSchema.ts"
import type { Server } from "../server/Server.ts"
import { answerOf } from "./content.ts"

/** How long one may be silent, in milliseconds. */
const silence = 300_000

/** How much a server may say of a tool, in characters. */
const longestDescription = 2_048

const Arguments = Schema.Record({ key: Schema.String, value: Schema.Unknown })
type Arguments = typeof Arguments.Type

const refused = (kind: string, message: string) => new ToolError({ kind, message })

/** Whether a tool changes nothing: so says the user, or the server where the user wrote it into their own config. */
const onlyReads = (config: McpServerConfig, { annotations, name }: ServerTool): boolean => {
  const { read_only: said } = config
  if (typeof said === "boolean") return said
  if (said !== undefined) return said.includes(name)
  return config.trust_hints !== false && annotations?.readOnlyHint === true
}

const descriptionOf = (server: string, { description = "", name, title }: ServerTool): string => {
  const words = cleanText(description).trim()
  const said = words === "" ? cleanLine(title ?? name, 200) : words
  return `${
    said.length > longestDescription ? `${said.slice(0, longestDescription)}…` : said
  }\n(A tool of the MCP server ${server}.)`
}

/** What is missing or unknown among the arguments: the server checks the rest. */
const faultIn = (input: Arguments, { additionalProperties, properties, required }: RawSchema): string | undefined => {
  const needed = Array.isArray(required) ? required.map(String) : []
  const missing = needed.filter((key) => !Object.hasOwn(input, key))
  if (missing.length > 0) return `it needs ${missing.join(", ")}`
  const known = Object.keys(Object(properties))
  const unknown = additionalProperties === false ? Object.keys(input).filter((key) => !known.includes(key)) : []
  return unknown.length > 0 ? `it does not know ${unknown.join(", ")}; it knows ${known.join(", ")}` : undefined
}

/** What a running call says of itself. */
const shownOf = (title: string, { message, progress, total }: {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}): string => {
  const share = total === undefined ? "" : ` ${progress}/${total}`
  return cleanLine(`${title}${share}${message === undefined ? "" : `: ${message}`}`, 200)
}

const call = (server: Server, name: string, title: string, input: Arguments, context: ToolContext) =>
  Effect.suspend((): Effect.Effect<CallToolResult, ToolError> => {
    const state = server.state()
    if (state._tag !== "Ready") {
      const why = state._tag === "Failed" ? state.message : "it is being started"
      return refused("mcp_unavailable", `The MCP server ${server.target.name} cannot be used now: ${why}.`)
    }
    return Effect.tryPromise({
      try: (signal) =>
        state.connection.client.callTool({ name, arguments: input }, {
          signal,
          timeout: server.target.config.timeout ?? silence,
          resetTimeoutOnProgress: true,
          onprogress: (progress) => Effect.runSync(context.report({ title: shownOf(title, progress) }))
        }),
      // What ended a connection says more than that it has ended.
      catch: (cause) => {
        const why = state.connection.whyEnded() ?? server.target.host.redact(wordsOf(cause))
        return refused("mcp_failed", `The call failed. The MCP server ${server.target.name}: ${why}`)
      }
    })
  })

/** Makes it; `name` is what models call it. */
export const makeMcpTool = (server: Server, name: string, tool: ServerTool, schema: RawSchema): AnyTool => {
  const { config, name: serverName } = server.target
  const title = `${serverName}: ${cleanLine(tool.title ?? tool.annotations?.title ?? tool.name, 100)}`
  const opaque = !onlyReads(config, tool)
  const ask = (input: Arguments): PermissionAsk => ({
    permission: name,
    patterns: ["*"],
    always: ["*"],
    metadata: { server: serverName, tool: tool.name, arguments: input }
  })
  return define<Arguments>({
    name,
    describe: descriptionOf(serverName, tool),
    parameters: Arguments,
    inputSchema: schema,
    opaque,
    effect: "never",
    title: () => title,
    authorise: (input) => {
      const fault = faultIn(input, schema)
      return fault === undefined
        ? Effect.succeed([ask(input)])
        : refused("invalid_arguments", `invalid arguments for ${name}: ${fault}`)
    },
    execute: (input, context) =>
      Effect.gen(function*() {
        if (opaque && context.readsOnly) {
          return yield* refused("denied", `${name} may change files, and edits are denied here.`)
        }
        const result = yield* call(server, tool.name, title, input, context)
        const { attachments, text } = answerOf(result.content, result.structuredContent)
        if (result.isError === true) return yield* refused("mcp_error", text === "" ? "The tool failed." : text)
        return {
          title,
          output: text === "" && attachments.length === 0 ? "The tool answered nothing." : text,
          metadata: { server: serverName },
          ...(attachments.length === 0 ? {} : { attachments })
        }
      })
  })
}
