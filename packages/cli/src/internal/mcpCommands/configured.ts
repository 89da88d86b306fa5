/** Finds the MCP servers that a directory names. */
import { describeConfig } from "@skein/config/ConfigDescription"
import { replaceSecrets } from "@skein/config/McpSecrets"
import type { McpServerConfig } from "@skein/domain/McpConfig"
import * as Effect from "effect/Effect"
import { settle } from "../app.ts"

/** A server as config has it. */
export interface Configured {
  readonly name: string
  readonly state: "on" | "off" | "untrusted"
  /** Its config without secrets. */
  readonly config: McpServerConfig
  /** Its file and line. */
  readonly origin: string
  /** The id with which `skein trust allow` trusts it. */
  readonly trust?: string
  /** Where it runs. */
  readonly directory?: string
}

const keyOf = (name: string): string => `mcp.${name}`

/** The servers of a directory, sorted by name; with the config from which they come. */
export const configured = Effect.fnUntraced(function*(directory: string) {
  const settled = yield* settle(directory)
  const { rows } = describeConfig(settled)
  const usable = Object.entries(settled.settings.mcp ?? {}).map(([name, { enabled }]): Configured => ({
    name,
    state: enabled === false ? "off" : "on",
    // Described without secrets, it still has its shape.
    config: (rows.find(({ path }) => path === keyOf(name))?.value ?? {}) as McpServerConfig,
    origin: settled.origins[keyOf(name)] ?? "",
    directory: settled.serverDirectories[name] ?? directory
  }))
  const waiting = settled.widenings.filter(({ key, state }) => key.startsWith("mcp.") && state !== "trusted")
    .map(({ file, id, key, line, value }): Configured => ({
      name: key.slice("mcp.".length),
      state: "untrusted",
      config: replaceSecrets(value as McpServerConfig, () => "(hidden)"),
      origin: line === undefined ? file : `${file}:${line}`,
      trust: id
    }))
  const servers = [...usable, ...waiting].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return { settled, servers }
})
