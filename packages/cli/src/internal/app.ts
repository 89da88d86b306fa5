/** Puts the program together: config, agents and the services of Skein, for one working directory. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import type * as FileSystem from "@effect/platform/FileSystem"
import { agentsFrom } from "@skein/config/AgentsConfig"
import type * as CommandFiles from "@skein/config/CommandFiles"
import * as ConfigFiles from "@skein/config/ConfigFiles"
import { DataDirs } from "@skein/config/DataDirs"
import * as InstructionFiles from "@skein/config/InstructionFiles"
import { Agent, builtins } from "@skein/core/Agent"
import { Config } from "@skein/core/Config"
import { type Hook, Hooks } from "@skein/core/Hooks"
import { Isolation } from "@skein/core/Isolation"
import type { PermissionOptions } from "@skein/core/Permission"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Skein from "@skein/core/Skein"
import { Spill } from "@skein/core/Spill"
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import { isPostgres } from "@skein/storage/PostgresUrl"
import * as Sqlite from "@skein/storage/Sqlite"
import * as BuiltinTools from "@skein/tools/BuiltinTools"
import { environment } from "@skein/tools/Environment"
import * as NodeOwner from "@skein/tools/NodeOwner"
import { Processes } from "@skein/tools/Processes"
import { Sandbox } from "@skein/tools/Sandbox"
import * as ShellHooks from "@skein/tools/ShellHooks"
import * as Worktrees from "@skein/tools/Worktrees"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { providerCheck, providers } from "./providers.ts"

/** Where files are, and the files themselves. */
export const platform = (options: { readonly database?: string | undefined }) =>
  Layer.mergeAll(
    DataDirs.layer(options.database === undefined ? {} : { database: options.database }),
    NodeFileSystem.layer,
    NodePath.layer
  )

const storageFor = (
  access: "read" | "write"
): Layer.Layer<SessionStorage, Layer.Layer.Error<ReturnType<typeof Sqlite.layer>>, DataDirs> =>
  Layer.unwrapEffect(Effect.flatMap(DataDirs, ({ database }) =>
    isPostgres(database)
      ? Effect.map(
        Effect.promise(() => import("@skein/storage/Postgres")),
        (Postgres) => Postgres.layer({ url: database })
      )
      : Effect.succeed(Sqlite.layer({ filename: database, access }))))

/** The database of this program. */
export const storage = storageFor("write")

/** The same for commands that only read: it may lie where nothing can be written. */
export const readableStorage = storageFor("read")

/** The config of a directory with its agents. */
export const settle = Effect.fnUntraced(
  function*(directory: string, overrides?: ConfigFiles.ConfigOptions["overrides"]) {
    const loaded = yield* ConfigFiles.load({
      directory,
      ...(overrides === undefined ? {} : { overrides }),
      whyNot: yield* providerCheck
    })
    const found = yield* agentsFrom(loaded.settings, builtins, loaded.origins, loaded.broken)
    const { agents, broken, permission } = found
    const settings = { ...loaded.settings, default_agent: found.defaultAgent }
    return {
      ...loaded,
      settings,
      warnings: [...loaded.warnings, ...found.warnings],
      directory,
      agents,
      broken,
      permission
    }
  }
)

/** Config and agents, ready for use. */
export type Settled = Effect.Effect.Success<ReturnType<typeof settle>>

/** Where commands are found; most runs need none, and do not load what reads them. */
const commandsOf = (config: Parameters<typeof CommandFiles.load>[1]) =>
  Effect.map(
    Effect.context<DataDirs | FileSystem.FileSystem>(),
    (context) => (directory: string) =>
      Effect.flatMap(
        Effect.promise(() => import("@skein/config/CommandFiles")),
        ({ load }) => Effect.provide(load(directory, config), context)
      )
  )

/** Where skills are found. */
const skillsOf = Effect.map(
  Effect.context<DataDirs | FileSystem.FileSystem>(),
  (context) => (directory: string) =>
    Effect.flatMap(
      Effect.promise(() => import("@skein/config/SkillFiles")),
      ({ load }) => Effect.provide(load(directory), context)
    )
)

/** All services of Skein over this config, with all tools; `heard` may put hooks beside those of the config, `tell` shows what hooks say to the user. */
export const services = (
  { broken, directory, origins, permission, settings }: Settled,
  agents: ReadonlyArray<AgentInfo>,
  asks: PermissionOptions["asks"],
  heard: (hooks: ReadonlyArray<Hook>) => ReadonlyArray<Hook> = (hooks) => hooks,
  tell?: (line: string) => void
) =>
  Layer.unwrapEffect(
    Effect.gen(function*() {
      const { home } = yield* DataDirs
      const hooks = ShellHooks.hooks({
        environment: yield* environment,
        directory,
        processes: yield* Processes,
        auto: asks === "auto",
        ...(tell === undefined ? {} : { tell: (line: string) => Effect.sync(() => tell(line)) })
      })
      return Skein.layer({
        provider: providers,
        storage: Layer.effect(SessionStorage, SessionStorage),
        tools: BuiltinTools.tools,
        spill: Layer.succeed(Spill, yield* Spill),
        isolation: Layer.succeed(Isolation, yield* Isolation),
        config: Layer.succeed(Config, { settings, origins }),
        owner: NodeOwner.layer,
        agents: Agent.layer(agents, permission, broken),
        commands: yield* commandsOf({ settings, origins, whyNot: yield* providerCheck }),
        skills: yield* skillsOf,
        instructions: Layer.provide(
          InstructionFiles.layer(settings.instructions ?? []),
          Layer.succeedContext(yield* Effect.context<DataDirs | FileSystem.FileSystem>())
        ),
        hooks: Hooks.layerEffect(Effect.map(hooks, heard)),
        permission: { asks, home }
      })
    })
  ).pipe(Layer.provide(workbench(settings, directory)))

const workbench = (
  { sandbox = "auto", sandbox_network: network = false, ...settings }: Settled["settings"],
  directory: string
) =>
  Layer.unwrapEffect(
    Effect.gen(function*() {
      const { data } = yield* DataDirs
      const place = { dataDirectory: data, environment: yield* environment }
      const confined = { off: Sandbox.layerNoop, auto: Sandbox.layer, on: Sandbox.layerRequired }[sandbox]
      return Layer.merge(
        BuiltinTools.layerWorkbench({
          ...place,
          set: settings.env ?? {},
          sandbox: typeof confined === "function"
            ? confined({ ...place, network, fixed: ShellHooks.scripts(settings, directory) })
            : confined
        }),
        Worktrees.layer(place)
      )
    })
  )

/** What a command line says of limits, as config. */
export const limitsOf = (flags: {
  readonly concurrency: number | undefined
  readonly "max-tasks": number | undefined
}): ConfigFiles.ConfigOptions["overrides"] => {
  const { concurrency, "max-tasks": max_tasks } = flags
  const limits: NonNullable<ConfigInfo["limits"]> = {
    ...(concurrency === undefined ? {} : { concurrency, process_concurrency: concurrency }),
    ...(max_tasks === undefined ? {} : { max_tasks })
  }
  const origin = [
    ...(concurrency === undefined ? [] : ["--concurrency"]),
    ...(max_tasks === undefined ? [] : ["--max-tasks"])
  ].join(", ")
  return origin === "" ? undefined : { info: { limits }, origin }
}
