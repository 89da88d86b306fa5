/** Owns the MCP servers of this process. What speaks with them is loaded for the first project that has one. */
import * as FileSystem from "@effect/platform/FileSystem"
import { secretsIn } from "@skein/config/McpSecrets"
import { noSource, type ToolSource } from "@skein/core/Tool"
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import { environment } from "@skein/tools/Environment"
import { Processes } from "@skein/tools/Processes"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Redaction } from "../Redaction.ts"
import { version } from "../version.ts"

/** The MCP servers of this process. */
export class McpLoader extends Context.Tag("@skein/cli/internal/mcp/McpLoader")<McpLoader, {
  /** The tools of the servers of a project, until the scope closes; `directories` says where servers run, by name. */
  readonly open: (
    directory: string,
    servers: ConfigInfo["mcp"],
    directories: Readonly<Record<string, string>>
  ) => Effect.Effect<ToolSource, never, Scope.Scope>
}>() {
  /** Servers as processes of this one. */
  static readonly layer: Layer.Layer<McpLoader, never, FileSystem.FileSystem | Processes> = Layer.scoped(
    McpLoader,
    Effect.gen(function*() {
      const scope = yield* Effect.scope
      const fs = yield* FileSystem.FileSystem
      const processes = yield* Processes
      const variables = yield* environment
      const { hide, redact } = yield* Redaction
      const servers = yield* Effect.cached(
        Effect.gen(function*() {
          const { McpServers } = yield* Effect.promise(() => import("@skein/mcp/McpServers"))
          const ServerProcess = yield* Effect.promise(() => import("@skein/tools/ServerProcess"))
          const base = ServerProcess.baseEnvironment(variables)
          const built = yield* Layer.buildWithScope(
            McpServers.layer({
              version,
              variables,
              hide: (config) => hide(secretsIn(config)),
              redact,
              fetch: globalThis.fetch,
              readText: (path) => fs.readFileString(path),
              launch: (program) =>
                ServerProcess.start(processes, { ...program, environment: { ...base, ...program.environment } })
            }),
            scope
          )
          return Context.get(built, McpServers)
        })
      )
      return {
        open: (directory, wanted = {}, directories) =>
          Object.values(wanted).some(({ enabled }) => enabled !== false)
            ? Effect.flatMap(servers, ({ open }) => open({ directory, servers: wanted, directories }))
            : Effect.succeed(noSource)
      }
    })
  )
}
