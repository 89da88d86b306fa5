/** A tool of a server as a tool of Skein. */
import type { Tool as ServerTool } from "@modelcontextprotocol/client"
import type { Question } from "@skein/core/Question"
import { type AnyTool, define, type PermissionAsk, ToolError } from "@skein/core/Tool"
import type { McpServerConfig } from "@skein/domain/McpConfig"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { cleanLine, cleanText } from "../cleanText.ts"
import { answerOf } from "../content.ts"
import type { RawSchema } from "../listing/inputSchema.ts"
import type { ToolName } from "../listing/toolName.ts"
import type { Server } from "../server/Server.ts"
import { callTool } from "./callTool.ts"

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

/** Makes it, under the name that models call it by. */
export const makeMcpTool = (
  server: Server,
  { name, wished }: ToolName,
  tool: ServerTool,
  schema: RawSchema,
  questions: Context.Tag.Service<Question>
): AnyTool => {
  const { config, name: serverName } = server.target
  const title = `${serverName}: ${cleanLine(tool.title ?? tool.annotations?.title ?? tool.name, 100)}`
  const opaque = !onlyReads(config, tool)
  const ask = (input: Arguments): PermissionAsk => ({
    permission: name,
    patterns: ["*"],
    always: ["*"],
    ...(wished === name ? {} : { alias: wished }),
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
        const asTask = tool.execution?.taskSupport === "required"
        const result = yield* callTool({
          server,
          name: tool.name,
          title,
          input,
          asTask,
          onlyReads: !opaque,
          context,
          questions
        })
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
