/** Owns the MCP servers of this process. The MCP client is loaded for the first project that has a server. */
import type * as FileSystem from "@effect/platform/FileSystem"
import type { DataDirs } from "@skein/config/DataDirs"
import * as LayerGraph from "@skein/core/LayerGraph"
import type { Question } from "@skein/core/Question"
import { noSource, type ToolSource } from "@skein/core/Tool"
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import type { McpServerConfig } from "@skein/domain/McpConfig"
import type { ProjectServers } from "@skein/mcp/McpServers"
import type { Processes } from "@skein/tools/Processes"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/** The servers of an editor by their names, for each directory that its sessions work in; none in other programs. */
export class EditorServers extends Context.Reference<EditorServers>()("@skein/cli/internal/mcp/EditorServers", {
  defaultValue: () => new Map<string, Readonly<Record<string, McpServerConfig>>>()
}) {}

/** The MCP servers of this process. */
export class McpLoader extends Context.Tag("@skein/cli/internal/mcp/McpLoader")<McpLoader, {
  /**
   * The tools of the servers of a project, until the scope closes: those of its config, and those that an editor names for
   * its directory. The config goes first where both have a name. What the editor names later is there from the next turn on.
   */
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
      const editors = yield* EditorServers
      const servers = yield* Effect.cached(
        Effect.gen(function*() {
          const { McpServers } = yield* Effect.promise(() => import("@skein/mcp/McpServers"))
          const { makeHost } = yield* Effect.promise(() => import("./mcpHost.ts"))
          const host = yield* Effect.provide(makeHost, context)
          return Context.get(yield* LayerGraph.buildIn(McpServers.layer(host), scope), McpServers)
        })
      )
      const open = (project: ProjectServers) =>
        Object.values(project.servers).some(({ enabled }) => enabled !== false)
          ? Effect.flatMap(servers, (all) => all.open(project))
          : Effect.succeed(noSource)
      return {
        open: Effect.fnUntraced(function*(project) {
          const around = yield* Effect.context<Question | Scope.Scope>()
          let named = editors.get(project.directory)
          // A server that runs already is shared: opening it again starts nothing.
          const openNow = Effect.suspend(() =>
            Effect.provide(open({ ...project, servers: { ...named, ...project.servers } }), around)
          )
          let source = yield* openNow
          /** The source of the servers that the editor names now. */
          const latest = Effect.gen(function*() {
            const now = editors.get(project.directory)
            if (now === named) return source
            named = now
            return source = yield* openNow
          })
          return {
            ready: Effect.flatMap(latest, ({ ready }) => ready),
            commandsReady: Effect.flatMap(latest, ({ commandsReady }) => commandsReady),
            current: () => source.current(),
            commands: () => source.commands(),
            guides: () => source.guides(),
            whyMissing: (name) => source.whyMissing?.(name)
          }
        })
      }
    })
  )
}
