/** Reaches MCP servers for commands that run no session. */
import { DataDirs } from "@skein/config/DataDirs"
import type { CommandInfo } from "@skein/core/Command"
import * as LayerGraph from "@skein/core/LayerGraph"
import { Question } from "@skein/core/Question"
import { McpServers } from "@skein/mcp/McpServers"
import { environment } from "@skein/tools/Environment"
import * as NodeOwner from "@skein/tools/NodeOwner"
import { Processes } from "@skein/tools/Processes"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { platform, type Settled } from "./app.ts"
import { makeHost } from "./mcp/mcpHost.ts"

const processes = Layer.unwrapEffect(
  Effect.zipWith(
    DataDirs,
    environment,
    ({ data }, variables) =>
      Layer.provide(Processes.layer({ dataDirectory: data, environment: variables }), NodeOwner.layer)
  )
)

/** Files, and processes. */
export const machine = Layer.provideMerge(processes, platform({}))

/** The prompts as commands. Starts the servers, and waits for them as a session does; a dead one costs only its prompts. */
export const serverPrompts = (directory: string, settled: Settled): Effect.Effect<ReadonlyArray<CommandInfo>> =>
  Effect.gen(function*() {
    const source = yield* Effect.flatMap(McpServers, ({ open }) =>
      open({
        directory,
        servers: settled.settings.mcp ?? {},
        directories: settled.serverDirectories
      }))
    yield* source.commandsReady
    return source.commands()
  }).pipe(
    Effect.provide(Question.layerNobody),
    Effect.provideServiceEffect(
      McpServers,
      Effect.flatMap(
        Effect.flatMap(makeHost, (host) => LayerGraph.build(McpServers.layer(host))),
        (context) => Effect.succeed(Context.get(context, McpServers))
      )
    ),
    Effect.scoped,
    Effect.provide(machine)
  )
