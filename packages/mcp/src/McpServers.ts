/** Owns the MCP servers of a process: each runs once for a project, while the project needs it. */
import { Question } from "@skein/core/Question"
import type { ToolSource } from "@skein/core/Tool"
import type { McpServerConfig } from "@skein/domain/McpConfig"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RcMap from "effect/RcMap"
import type * as Scope from "effect/Scope"
import { promptCommands } from "./internal/listing.ts"
import { makeNotices, makeServer } from "./internal/Server.ts"
import { makeServerTools, whyMissing } from "./internal/serverTools.ts"
import type { McpHost } from "./McpHost.ts"

/** The servers of a project. */
export interface ProjectServers {
  /** Where the project is, absolute. */
  readonly directory: string
  /** Its servers by their names. */
  readonly servers: Readonly<Record<string, McpServerConfig>>
  /** Where servers run that do not run in the directory of the project, by their names; absolute. */
  readonly directories?: Readonly<Record<string, string>>
  /** How many tokens their tools may take in each request; models search for what is beyond. 8,000 by default. */
  readonly budget?: number | undefined
}

/** A server is the same where its name, its directory and all that config says of it are the same. */
const keyOf = (name: string, directory: string, config: McpServerConfig): string =>
  JSON.stringify([name, directory, config])

const all = { concurrency: "unbounded", discard: true } as const

const makeServers = (host: McpHost) =>
  Effect.gen(function*() {
    const notices = makeNotices()
    const running = yield* RcMap.make({
      lookup: (key: string) => {
        const [name, directory, config] = JSON.parse(key) as [string, string, McpServerConfig]
        return makeServer({ name, directory, config, host }, notices)
      }
    })
    return McpServers.of({
      open: Effect.fn("McpServers.open")(function*({ budget, directories = {}, directory, servers }: ProjectServers) {
        const wanted = Object.entries(servers).filter(([, config]) => config.enabled !== false)
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
        const opened = yield* Effect.forEach(
          wanted,
          ([name, config]) => RcMap.get(running, keyOf(name, directories[name] ?? directory, config))
        )
        const now = makeServerTools(opened, yield* Question, budget)
        return {
          ready: Effect.forEach(opened, ({ ready }) => ready, all),
          commandsReady: Effect.forEach(opened, ({ prompted, ready }) => Effect.zipRight(ready, prompted), all),
          current: () => now().tools,
          guides: () => now().guides,
          commands: () => opened.flatMap(({ prompts, target }) => promptCommands(target.name, prompts())),
          whyMissing: (name) => whyMissing(opened, name)
        } satisfies ToolSource
      })
    })
  })

/** The servers. */
export class McpServers extends Context.Tag("@skein/mcp/McpServers")<McpServers, {
  /**
   * The tools of a project's servers, until the scope closes. A server starts with the first turn, is shared by all who
   * open the same one for the same directory, and is started again when it ends. What a server asks in a call is asked by
   * `Question`.
   */
  readonly open: (project: ProjectServers) => Effect.Effect<ToolSource, never, Question | Scope.Scope>
}>() {
  /** Servers on this machine. */
  static readonly layer = (host: McpHost): Layer.Layer<McpServers> => Layer.scoped(McpServers, makeServers(host))
}
