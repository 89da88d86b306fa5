/** What `skein mcp test` does. */
import { DataDirs } from "@skein/config/DataDirs"
import { didYouMean } from "@skein/core/Nearest"
import { probe } from "@skein/mcp/McpProbe"
import { environment } from "@skein/tools/Environment"
import * as NodeOwner from "@skein/tools/NodeOwner"
import { Processes } from "@skein/tools/Processes"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
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

/** Why a server is not tried; undefined where it can be. */
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

/** Connects to a server, and tells what it offers. */
export const testServer = ({ flags, operands: [name = ""] }: {
  readonly flags: { readonly dir: string | undefined; readonly format: "default" | "json" }
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const directory = yield* directoryOf(flags.dir)
    const { servers, settled } = yield* configured(directory)
    yield* hideConfigured(settled.settings)
    const why = refusal(name, servers)
    const config = settled.settings.mcp?.[name]
    if (why !== undefined || config === undefined) {
      return yield* new UsageError({ message: why ?? `There is no ${name}.` })
    }
    const host = yield* makeHost
    const found = yield* probe(host, { name, config, directory: settled.serverDirectories[name] ?? directory })
    if (flags.format === "json") {
      stdio.out(`${JSON.stringify({ name, ...found }, undefined, 2)}\n`)
      return ExitCode.done
    }
    const { connected, listed, notes, offers, revision, server, tools } = found
    const lines = [
      `${name}: ${server}`,
      `protocol ${revision}, connected in ${connected} ms, listed in ${listed} ms`,
      `offers ${offers.join(", ")}`,
      `${tools.length} tools`,
      ...tools.map((tool) => `  ${tool.as}`)
    ]
    stdio.out(lines.map((line) => `${escapeLine(line)}\n`).join(""))
    for (const note of notes) stdio.err(`skein: ${escapeLine(note)}`)
    return ExitCode.done
  }).pipe(Effect.provide(processes), Effect.provide(platform({})))
