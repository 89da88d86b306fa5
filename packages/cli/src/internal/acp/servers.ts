/** Lets agents use the MCP servers that an editor names. */
import type { AcpHost } from "@skein/acp/AcpHost"
import { isSkeinItself, McpServerConfig, startsSkein } from "@skein/domain/McpConfig"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { EditorServers } from "../mcp/EditorServers.ts"

type Named = Parameters<AcpHost["useServers"]>[1][number]

const record = (pairs: ReadonlyArray<{ readonly name: string; readonly value: string }>) =>
  Object.fromEntries(pairs.map(({ name, value }) => [name, value]))

const isConfig = Schema.is(McpServerConfig)

/** A server as config would name it, or why there can be none. */
const configOf = (server: Named): McpServerConfig | string => {
  const config = "command" in server
    ? { command: [server.command, ...server.args], env: record(server.env) }
    : "url" in server
    ? { url: server.url, headers: record(server.headers), type: server.type }
    : undefined
  if (config === undefined) {
    return `its type ${
      "type" in server ? server.type : "unknown"
    } is not supported. Skein starts programs, and connects to http and sse`
  }
  if (startsSkein(config.command ?? [])) return isSkeinItself
  if (isConfig(config)) return config
  return "url" in server ? `${server.url} is no http(s) URL` : "its command is empty"
}

const listed = (servers: ReadonlyArray<Named>) => servers.map(({ name }) => escapeLine(name)).join(", ")

/** Makes what takes them: for this process, or for a server, which has its own. */
export const useServers = (
  editors: typeof EditorServers.Service,
  serverUrl: string | undefined
): AcpHost["useServers"] =>
(directory, servers) =>
  Effect.sync(() => {
    if (serverUrl !== undefined) {
      return [
        `The editor's MCP servers are not used: ${
          listed(servers)
        }. The server at ${serverUrl} holds the sessions, and uses `
        + "those of its config. Add them there with skein mcp add, or start Skein with --attach=off and --db FILE."
      ]
    }
    const notes: Array<string> = []
    const known: Record<string, McpServerConfig> = {}
    for (const server of servers) {
      const config = configOf(server)
      const name = escapeLine(server.name)
      if (typeof config === "string") notes.push(`The editor's MCP server ${name} is not used: ${escapeLine(config)}.`)
      else if (server.name in known) notes.push(`The editor names two MCP servers ${name}: the first one is used.`)
      else known[server.name] = config
    }
    const before = editors.get(directory) ?? {}
    const after = { ...before, ...known }
    if (JSON.stringify(before) !== JSON.stringify(after)) editors.set(directory, after)
    return notes
  })
