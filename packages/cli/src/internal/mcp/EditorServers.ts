/** Owns the MCP servers that an editor names for its sessions, beside those of config. */
import type { Question } from "@skein/core/Question"
import type { ToolSource } from "@skein/core/Tool"
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import type { McpServerConfig } from "@skein/domain/McpConfig"
import type { ProjectServers } from "@skein/mcp/McpServers"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import type { McpLoader } from "./McpLoader.ts"

/** Servers by their names. */
type Servers = Readonly<Record<string, McpServerConfig>>

const none: Servers = {}

/** The servers of an editor, by the directories that its sessions work in; none in other programs. */
export class EditorServers extends Context.Reference<EditorServers>()("@skein/cli/internal/mcp/EditorServers", {
  defaultValue: () => new Map<string, Servers>()
}) {}

/**
 * The tools of the servers of a project: those of its config, and those that an editor names for its directory. The config
 * goes first where both have a name. What the editor names later is there from the next turn on.
 */
export const openServers = (
  mcp: typeof McpLoader.Service,
  project: Omit<ProjectServers, "servers"> & { readonly servers: ConfigInfo["mcp"] }
): Effect.Effect<ToolSource, never, Question | Scope.Scope> =>
  Effect.gen(function*() {
    const editors = yield* EditorServers
    const context = yield* Effect.context<Question | Scope.Scope>()
    const openNow = Effect.suspend(() => {
      const named = editors.get(project.directory) ?? none
      return Effect.map(
        // A server that runs already is shared: opening it again starts nothing.
        Effect.provide(mcp.open({ ...project, servers: { ...named, ...project.servers } }), context),
        (source) => ({ named, source })
      )
    })
    let open = yield* openNow
    /** The source of the servers that the editor names now. */
    const latest = Effect.suspend(() =>
      (editors.get(project.directory) ?? none) === open.named
        ? Effect.succeed(open.source)
        : Effect.map(openNow, (opened) => {
          open = opened
          return opened.source
        })
    )
    return {
      ready: Effect.flatMap(latest, ({ ready }) => ready),
      commandsReady: Effect.flatMap(latest, ({ commandsReady }) => commandsReady),
      current: () => open.source.current(),
      commands: () => open.source.commands(),
      guides: () => open.source.guides(),
      whyMissing: (name) => open.source.whyMissing?.(name)
    }
  })
