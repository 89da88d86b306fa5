/** Finds the prompts of a project's MCP servers, for commands that run no session. */
import type { CommandInfo } from "@skein/core/Command"
import { Question } from "@skein/core/Question"
import { McpServers } from "@skein/mcp/McpServers"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Settled } from "../app.ts"
import { makeHost } from "../mcp/mcpHost.ts"
import { machine } from "./machine.ts"

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
        Effect.flatMap(makeHost, (host) => Layer.build(McpServers.layer(host))),
        (context) => Effect.succeed(Context.get(context, McpServers))
      )
    ),
    Effect.scoped,
    Effect.provide(machine)
  )
