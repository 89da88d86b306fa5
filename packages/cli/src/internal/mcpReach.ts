/** Reaches MCP servers for commands that run no session. */
import type * as FileSystem from "@effect/platform/FileSystem"
import { DataDirs } from "@skein/config/DataDirs"
import type { CommandInfo } from "@skein/core/Command"
import { Question } from "@skein/core/Question"
import { McpServers } from "@skein/mcp/McpServers"
import { environment } from "@skein/tools/Environment"
import * as NodeOwner from "@skein/tools/NodeOwner"
import { Processes } from "@skein/tools/Processes"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Settled } from "./app.ts"
import { makeHost } from "./mcp/mcpHost.ts"

/** Starts and ends processes. */
export const processes = Layer.unwrapEffect(
  Effect.zipWith(
    DataDirs,
    environment,
    ({ data }, variables) =>
      Layer.provide(Processes.layer({ dataDirectory: data, environment: variables }), NodeOwner.layer)
  )
)

/** The prompts as commands. Starts the servers, and waits for them as a session does; a dead one costs only its prompts. */
export const serverPrompts = (
  directory: string,
  settled: Settled
): Effect.Effect<ReadonlyArray<CommandInfo>, never, DataDirs | FileSystem.FileSystem> =>
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
    Effect.provide(Layer.unwrapEffect(Effect.map(makeHost, McpServers.layer))),
    Effect.scoped,
    Effect.provide(processes)
  )
