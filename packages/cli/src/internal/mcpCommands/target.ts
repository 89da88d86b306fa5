/** Finds the server that a command names, and what it needs of this machine. */
import { DataDirs } from "@skein/config/DataDirs"
import { didYouMean } from "@skein/core/Nearest"
import { environment } from "@skein/tools/Environment"
import * as NodeOwner from "@skein/tools/NodeOwner"
import { Processes } from "@skein/tools/Processes"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { UsageError } from "../../UsageError.ts"
import { platform } from "../app.ts"
import { makeHost } from "../mcp/mcpHost.ts"
import { directoryOf } from "../place.ts"
import { hideConfigured } from "../Redaction.ts"
import { type Configured, configured } from "./configured.ts"

const processes = Layer.unwrapEffect(
  Effect.zipWith(
    DataDirs,
    environment,
    ({ data }, variables) =>
      Layer.provide(Processes.layer({ dataDirectory: data, environment: variables }), NodeOwner.layer)
  )
)

/** What the commands that reach a server stand on. */
export const machine = Layer.provideMerge(processes, platform({}))

/** Why a server is not reached; undefined where it can be. */
const refusal = (name: string, servers: ReadonlyArray<Configured>): string | undefined => {
  const found = servers.find((server) => server.name === name)
  if (found === undefined) {
    return `There is no MCP server ${JSON.stringify(name)}.${
      didYouMean(name, servers.map((server) => server.name))
    } \`skein mcp list\` shows all.`
  }
  return found.state === "untrusted"
    ? `The MCP server ${name} of ${found.origin} is not trusted. \`skein trust\` shows what it runs, and `
      + `\`skein trust allow ${found.trust}\` trusts it.`
    : undefined
}

/** The server of this name in a directory, and the machine for it. */
export const targetOf = Effect.fnUntraced(function*(name: string, dir: string | undefined) {
  const directory = yield* directoryOf(dir)
  const { servers, settled } = yield* configured(directory)
  yield* hideConfigured(settled.settings)
  const why = refusal(name, servers)
  const config = settled.settings.mcp?.[name]
  if (why !== undefined || config === undefined) {
    return yield* new UsageError({ message: why ?? `There is no ${name}.` })
  }
  return { host: yield* makeHost, target: { name, config, directory: settled.serverDirectories[name] ?? directory } }
})
