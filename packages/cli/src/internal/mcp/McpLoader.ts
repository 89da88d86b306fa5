/** Owns the MCP servers of this process. The MCP client is loaded for the first project that has a server. */
import type * as FileSystem from "@effect/platform/FileSystem"
import type { DataDirs } from "@skein/config/DataDirs"
import * as LayerGraph from "@skein/core/LayerGraph"
import type { Question } from "@skein/core/Question"
import { noSource, type ToolSource } from "@skein/core/Tool"
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import type { ProjectServers } from "@skein/mcp/McpServers"
import type { Processes } from "@skein/tools/Processes"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/** The MCP servers of this process. */
export class McpLoader extends Context.Tag("@skein/cli/internal/mcp/McpLoader")<McpLoader, {
  /** The tools of the servers of a project, until the scope closes. */
  readonly open: (
    project: Omit<ProjectServers, "servers"> & { readonly servers: ConfigInfo["mcp"] }
  ) => Effect.Effect<ToolSource, never, Question | Scope.Scope>
}>() {
  /** Runs servers as child processes. */
  static readonly layer: Layer.Layer<McpLoader, never, DataDirs | FileSystem.FileSystem | Processes> = Layer.scoped(
    McpLoader,
    Effect.gen(function*() {
      const scope = yield* Effect.scope
      const context = yield* Effect.context<DataDirs | FileSystem.FileSystem | Processes>()
      const servers = yield* Effect.cached(
        Effect.gen(function*() {
          const { McpServers } = yield* Effect.promise(() => import("@skein/mcp/McpServers"))
          const { makeHost } = yield* Effect.promise(() => import("./mcpHost.ts"))
          const host = yield* Effect.provide(makeHost, context)
          return Context.get(yield* LayerGraph.buildIn(McpServers.layer(host), scope), McpServers)
        })
      )
      return {
        open: ({ servers: wanted = {}, ...project }) =>
          Object.values(wanted).some(({ enabled }) => enabled !== false)
            ? Effect.flatMap(servers, ({ open }) => open({ ...project, servers: wanted }))
            : Effect.succeed(noSource)
      }
    })
  )
}
