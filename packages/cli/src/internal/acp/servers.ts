/** Lets agents use the MCP servers that an editor names. */
import type { AcpHost } from "@skein/acp/AcpHost"
import type { McpServerConfig } from "@skein/domain/McpConfig"
import * as Effect from "effect/Effect"
import type { EditorServers } from "../mcp/EditorServers.ts"

type Named = Parameters<AcpHost["useServers"]>[1][number]

const record = (pairs: ReadonlyArray<{ readonly name: string; readonly value: string }>) =>
  Object.fromEntries(pairs.map(({ name, value }) => [name, value]))

/** A server as config would name it; undefined for a kind that is not known. */
const configOf = (server: Named): McpServerConfig | undefined => {
  if ("command" in server) return { command: [server.command, ...server.args], env: record(server.env) }
  if (!("url" in server)) return undefined
  return { url: server.url, headers: record(server.headers), type: server.type }
}

/** Makes what takes them: for this process, or for a server, which has its own. */
export const useServers = (
  editors: typeof EditorServers.Service,
  serverUrl: string | undefined
): AcpHost["useServers"] =>
(directory, servers) =>
  Effect.sync(() => {
    if (serverUrl !== undefined) {
      return [
        `The MCP servers of the editor are not used: the server at ${serverUrl} holds the sessions, and uses those of its `
        + "config. Start Skein with --attach=off and --db FILE to use them."
      ]
    }
    const known = servers.flatMap((server) => {
      const config = configOf(server)
      return config === undefined ? [] : [[server.name, config] as const]
    })
    const before = editors.get(directory) ?? {}
    const after = { ...before, ...Object.fromEntries(known) }
    if (JSON.stringify(before) !== JSON.stringify(after)) editors.set(directory, after)
    return []
  })
