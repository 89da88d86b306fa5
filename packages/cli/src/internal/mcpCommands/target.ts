/** Finds the server that a command names, and what it needs of this machine. */
import { type ConfigIssue, formatIssue } from "@skein/config/ConfigError"
import { didYouMean } from "@skein/domain/Lookup"
import * as Effect from "effect/Effect"
import { UsageError } from "../../UsageError.ts"
import { makeHost } from "../mcp/mcpHost.ts"
import { directoryOf } from "../place.ts"
import { hideConfigured } from "../Redaction.ts"
import { type Configured, configured } from "./list.ts"

/** Why a server is not reached; undefined where it can be. */
const refusal = (
  name: string,
  servers: ReadonlyArray<Configured>,
  warnings: ReadonlyArray<ConfigIssue>,
  mayBeOff: boolean
): string | undefined => {
  const found = servers.find((server) => server.name === name)
  if (found === undefined) {
    const ignored = warnings.find(({ key }) => key === `mcp.${name}`)
    return ignored !== undefined ?
      `${formatIssue(ignored)}.` :
      `There is no MCP server ${JSON.stringify(name)}.${
        didYouMean(name, servers.map((server) => server.name))
      } \`skein mcp list\` shows all.`
  }
  if (found.state === "off" && !mayBeOff) {
    return `The MCP server ${name} is turned off${found.origin === "" ? "" : ` in ${found.origin}`}.`
  }
  return found.state === "untrusted"
    ? `The MCP server ${name} of ${found.origin} is not trusted. \`skein trust\` shows what it runs, and `
      + `\`skein trust allow ${found.trust}\` trusts it.`
    : undefined
}

/** The server of this name in a directory, and the machine for it. `mayBeOff`: also one that config turns off. */
export const targetOf = Effect.fnUntraced(function*(name: string, dir: string | undefined, mayBeOff: boolean) {
  const directory = yield* directoryOf(dir)
  const { servers, settled } = yield* configured(directory)
  yield* hideConfigured(settled.settings)
  const why = refusal(name, servers, settled.warnings, mayBeOff)
  const config = settled.settings.mcp?.[name]
  if (why !== undefined || config === undefined) {
    return yield* new UsageError({ message: why ?? `There is no ${name}.` })
  }
  return {
    host: yield* makeHost,
    target: {
      name,
      config,
      directory: settled.serverDirectories[name] ?? directory,
      servers: servers.filter(({ state }) => state === "on").map((server) => server.name)
    }
  }
})
