/** Composes the program: config, agents and Skein's services, for one working directory. */
import type * as FileSystem from "@effect/platform/FileSystem"
import { agentsFrom } from "@skein/config/AgentsConfig"
import type * as CommandFiles from "@skein/config/CommandFiles"
import { type ConfigIssue, formatIssue, summarise } from "@skein/config/ConfigError"
import * as ConfigFiles from "@skein/config/ConfigFiles"
import { type ConfigVersion, follow } from "@skein/config/ConfigWatch"
import { checkoutsOf, DataDirs, realPath } from "@skein/config/DataDirs"
import * as InstructionFiles from "@skein/config/InstructionFiles"
import * as Trust from "@skein/config/Trust"
import { Agent, builtins } from "@skein/core/Agent"
import type { Bus } from "@skein/core/Bus"
import { Config } from "@skein/core/Config"
import { type Hook, Hooks } from "@skein/core/Hooks"
import { Confinement, Isolation, ModeRefused } from "@skein/core/Isolation"
import type { Owner } from "@skein/core/Owner"
import type { PermissionOptions } from "@skein/core/Permission"
import { ProjectUnavailable, type ProjectVersion } from "@skein/core/Projects"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Skein from "@skein/core/Skein"
import { Spill } from "@skein/core/Spill"
import type { WorkspaceSettings } from "@skein/core/Workspaces"
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import type { SessionID } from "@skein/domain/Id"
import { modeOf } from "@skein/domain/Mode"
import { allKeyNames } from "@skein/provider/BuiltIn"
import { faultOf, forClient, isPostgres } from "@skein/storage/PostgresUrl"
import * as Sqlite from "@skein/storage/Sqlite"
import * as BuiltinTools from "@skein/tools/BuiltinTools"
import { environment } from "@skein/tools/Environment"
import * as GitWorkspaces from "@skein/tools/GitWorkspaces"
import * as NodeOwner from "@skein/tools/NodeOwner"
import { distrustProject } from "@skein/tools/OwnPrograms"
import { Processes } from "@skein/tools/Processes"
import { Sandbox } from "@skein/tools/Sandbox"
import { Shell } from "@skein/tools/Shell"
import * as ShellHooks from "@skein/tools/ShellHooks"
import { Watchdog } from "@skein/tools/Watchdog"
import * as Worktrees from "@skein/tools/Worktrees"
import { escapeLine } from "@skein/tui/Escape"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { statSync } from "node:fs"
import { join } from "node:path"
import { UsageError } from "../ExitCode.ts"
import { Stdio } from "../Stdio.ts"
import { McpLoader } from "./mcp/McpLoader.ts"
import { IsLogged } from "./notice.ts"
import { directoryOf } from "./place.ts"
import { configOf, providerCheck, providers } from "./providers.ts"
import { hideConfigured } from "./Redaction.ts"

type StorageFailure = Layer.Layer.Error<ReturnType<typeof Sqlite.layer>> | UsageError

/** Why a name of a database cannot be used, without what may be a part of a password; undefined if it can. */
const faultOfName = (database: string): string | undefined => {
  if (isPostgres(database)) return faultOf(database)
  return /^["']/.test(database)
    ? "The name of the database begins with a quote. Write --db or SKEIN_DB without quotes: `docker --env-file`, for example, keeps them. If the name of a file begins with one, write ./ before it."
    : undefined
}

const storageFor = (access: "read" | "write"): Layer.Layer<SessionStorage, StorageFailure, DataDirs> =>
  Layer.unwrapEffect(Effect.flatMap(DataDirs, ({ database }) => {
    const fault = faultOfName(database)
    if (fault !== undefined) return new UsageError({ message: fault })
    if (isPostgres(database)) {
      return Effect.map(
        Effect.promise(() => import("@skein/storage/Postgres")),
        (Postgres) => Postgres.layer({ url: database })
      )
    }
    const [scheme] = /^[a-z][a-z0-9+.-]*:\/\//i.exec(database) ?? []
    return scheme === undefined
      ? Effect.succeed(Sqlite.layer({ filename: database, access }))
      : new UsageError({
        message:
          `The database ${scheme}… is of no known kind. Name a SQLite file or a postgres:// URL with --db or SKEIN_DB.`
      })
  }))

/** The database of this program. */
export const storage = storageFor("write")

/** False if a database is a file that does not exist. If the file cannot be checked, opening it fails later. */
const mayExist = (database: string): Effect.Effect<boolean> =>
  database === ":memory:" || database.includes("://")
    ? Effect.succeed(true)
    : Effect.orElseSucceed(Effect.try(() => statSync(database, { throwIfNoEntry: false }) !== undefined), () => true)

/**
 * The database for commands that only read. It may be on a read-only file system, and is never created. `given` is the
 * value of `--db`; without it, a database that does not exist counts as empty.
 */
export const readableStorage = (
  given: string | undefined
): Layer.Layer<SessionStorage, StorageFailure, DataDirs | Stdio> =>
  Layer.unwrapEffect(Effect.gen(function*() {
    const { data, database } = yield* DataDirs
    if (faultOfName(database) !== undefined || (yield* mayExist(database))) return storageFor("read")
    if (given !== undefined) {
      return yield* new UsageError({ message: `There is no database at ${database}. Check --db.` })
    }
    // The default database does not exist before the first run.
    const isNamed = database !== join(data, "skein.db")
    if (isNamed) (yield* Stdio).err(`There is no database at ${escapeLine(database)} yet.`)
    return Sqlite.layer({ filename: ":memory:" })
  }))

/** The agents that a config defines. */
const withAgents = (directory: string, loaded: ConfigFiles.LoadedConfig) =>
  Either.map(
    agentsFrom(loaded.settings, builtins, loaded.origins, loaded.broken),
    ({ agents, broken, defaultAgent, permission, warnings }) => ({
      ...loaded,
      settings: { ...loaded.settings, default_agent: defaultAgent },
      warnings: [...loaded.warnings, ...warnings],
      directory,
      agents,
      broken,
      permission
    })
  )

/** The config of a directory, with its agents. */
export const settle = Effect.fnUntraced(
  function*(directory: string, overrides?: ConfigFiles.ConfigOptions["overrides"]) {
    const loaded = yield* ConfigFiles.load({
      ...(yield* configOf(directory)),
      ...(overrides === undefined ? {} : { overrides })
    })
    return yield* withAgents(directory, loaded)
  }
)

/** The same for the directory that a command line names, by default the current one. */
export const settleIn = (dir: string | undefined) => Effect.flatMap(directoryOf(dir), (directory) => settle(directory))

/** Runs with the sandbox that the command line chooses, as if `SKEIN_SANDBOX` did. */
export const withSandbox = (chosen: string | undefined) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  chosen === undefined ? effect : Effect.configProviderWith((variables) =>
    Effect.withConfigProvider(
      effect,
      ConfigProvider.orElse(ConfigProvider.fromMap(new Map([["SKEIN_SANDBOX", chosen]])), () => variables)
    )
  )

/** Refuses to choose a sandbox for commands that run on a server. */
export const refuseSandbox = (chosen: string | undefined, url: string) =>
  chosen === undefined ? Effect.void : new UsageError({
    message:
      `--sandbox: the server at ${url} has settings of its own. Leave that out, or work without the server: --attach=off.`
  })

/** Config and agents, ready to use. */
export type Settled = Effect.Effect.Success<ReturnType<typeof settle>>

/** Where commands are found. Most runs need none, and do not load what reads them. */
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
const skillsOf = (grants: ConfigFiles.Grants) =>
  Effect.map(
    Effect.context<DataDirs | FileSystem.FileSystem>(),
    (context) => (directory: string) =>
      Effect.flatMap(
        Effect.promise(() => import("@skein/config/SkillFiles")),
        ({ load }) => Effect.provide(load(directory, grants), context)
      )
  )

/** Trees work in `auto` where commands are confined, or where the user has switched that off. */
const confinement = Effect.map(Shell, ({ fault }) =>
  Layer.succeed(Confinement, {
    auto: Effect.flatMap(fault, (why) => why === undefined ? Effect.void : noAuto(why))
  }))

const noAuto = (why: string) =>
  new ModeRefused({
    message:
      `The mode auto asks nothing, so it needs the sandbox. ${why} Or switch the sandbox off yourself, with --sandbox off, SKEIN_SANDBOX=off, or "sandbox": "off" in your own config: then commands can do whatever you can.`
  })

/** Fails if no tree may work in `auto` with this config, for a program that has not composed its services yet. */
export const checkAuto = ({ settings }: Settled) =>
  settings.sandbox === "off" ? Effect.void : Effect.flatMap(environment, Sandbox.trial).pipe(
    Effect.mapError(({ message }) => noAuto(`There is no sandbox for commands: ${message}.`))
  )

/** Says of a tree in `auto` that nothing confines its commands. */
export const autoNote = ({ origins, settings }: Settled): string | undefined =>
  settings.sandbox === "off"
    ? `sandbox: off (${origins["sandbox"]}), so commands can do whatever you can, and nothing is asked`
    : undefined

/** Values that a project's files set, and that count only once they are trusted. */
export const isOpen = ({ state }: Trust.TrustItem): boolean => state === "untrusted" || state === "changed"

/** The notes, each in one line. A person before a terminal (`isRead`) sees only once that values wait for trust. */
export const startNotes = Effect.fnUntraced(function*({ warnings, widenings }: Settled, isRead: boolean) {
  const fresh = widenings.filter(({ noticed, state }) => state !== "trusted" && noticed === undefined)
  const isTold = isRead && fresh.length === 0
  const { line, loud } = summarise(isTold ? warnings.filter(({ kind }) => kind !== "trust") : warnings, true)
  // If this cannot be stored, it is said again next time.
  if (isRead) yield* Effect.catchAll(Trust.notice(fresh, "told"), ({ message }) => Effect.logDebug(message))
  return [...loud.map(formatIssue), ...(line === undefined ? [] : [line])]
})

/**
 * What a project gets from this config. `heard` may add hooks to those of the config; `tell` shows the user what hooks
 * say.
 */
const projectOptions = Effect.fnUntraced(function*(
  { broken, directory, grants, origins, permission, projectKeys, serverDirectories, settings }: Settled,
  agents: ReadonlyArray<AgentInfo>,
  heard: (hooks: ReadonlyArray<Hook>) => ReadonlyArray<Hook> = (hooks) => hooks,
  tell?: (line: string) => void
) {
  distrustProject(directory)
  const processes = yield* Processes
  const mcp = yield* McpLoader
  const variables = yield* environment
  const store = yield* SessionStorage
  const isAuto = (rootID: SessionID) =>
    Effect.match(store.session(rootID), {
      // If the stored mode cannot be read, hooks get the most cautious one.
      onFailure: () => false,
      onSuccess: Option.exists((root) => modeOf(root) === "auto")
    })
  const hooks = ShellHooks.hooks({
    environment: variables,
    directory,
    processes,
    auto: isAuto,
    ...(tell === undefined ? {} : { tell: (line: string) => Effect.sync(() => tell(line)) })
  })
  return {
    provider: providers,
    tools: BuiltinTools.tools,
    toolSource: mcp.open({
      directory,
      servers: settings.mcp,
      directories: serverDirectories,
      budget: settings.mcp_budget
    }),
    isolation: Layer.succeed(Isolation, yield* Isolation),
    confinement: yield* confinement,
    config: Layer.succeed(Config, { settings, origins, projectKeys }),
    agents: Agent.layer(agents, permission, broken),
    commands: yield* commandsOf({ settings, origins, grants, whyNot: yield* providerCheck }),
    skills: yield* skillsOf(grants),
    instructions: Layer.provide(
      InstructionFiles.layer(settings.instructions ?? [], grants),
      Layer.succeedContext(yield* Effect.context<DataDirs | FileSystem.FileSystem>())
    ),
    hooks: Hooks.layerEffect(Effect.map(hooks, heard))
  }
})

/** How the files of trees get to other hosts. */
export const workspaces = Effect.fnUntraced(function*({ workspace, workspace_remote: remote }: WorkspaceSettings) {
  const { data } = yield* DataDirs
  return GitWorkspaces.layer({
    dataDirectory: data,
    environment: yield* environment,
    isOn: workspace === "git",
    remote
  })
})

/** What a process has once: its database (under all its names), and who answers questions by default. */
const processOptions = Effect.fnUntraced(function*(
  asks: PermissionOptions["asks"],
  owner: Layer.Layer<Owner> = NodeOwner.layer,
  settings: WorkspaceSettings = {}
) {
  const { database, home } = yield* DataDirs
  return {
    // Only servers of one PostgreSQL database are on several hosts.
    ...(isPostgres(database) ? { workspaces: yield* workspaces(settings) } : {}),
    storage: Layer.effect(SessionStorage, SessionStorage),
    spill: Layer.succeed(Spill, yield* Spill),
    owner,
    titles: true,
    permission: { asks, checkouts: checkoutsOf, home, real: realPath }
  }
})

/** What keeps trees of a PostgreSQL database to the hosts of their directories, in a process that is no server of a cluster. */
const placement = Layer.unwrapEffect(Effect.flatMap(DataDirs, ({ database }) =>
  isPostgres(database)
    ? Effect.map(
      Effect.promise(() => import("@skein/cluster/Placement")),
      (Placement) => Placement.layer(Redacted.make(forClient(database).href))
    )
    : Effect.succeed(Layer.empty)))

/** Adds the log of tasks to services, where somebody reads the log. */
const withTaskLog = <A, E, R>(graph: Layer.Layer<A | Bus, E, R>) =>
  Effect.flatMap(IsLogged, (isLogged) =>
    isLogged
      ? Effect.map(
        Effect.promise(() => import("@skein/core/TaskLog")),
        (TaskLog) => Layer.provideMerge(TaskLog.layer, graph)
      )
      : Effect.succeed(graph))

/** All services of Skein with all tools, for one project with this config. */
export const services = (
  settled: Settled,
  agents: ReadonlyArray<AgentInfo>,
  asks: PermissionOptions["asks"],
  heard?: (hooks: ReadonlyArray<Hook>) => ReadonlyArray<Hook>,
  tell?: (line: string) => void
) =>
  Layer.unwrapEffect(
    Effect.flatMap(
      Effect.zip(projectOptions(settled, agents, heard, tell), processOptions(asks, undefined, settled.settings)),
      ([project, process]) => withTaskLog(Layer.provideMerge(placement, Skein.layer({ ...project, ...process })))
    )
  ).pipe(Layer.provide(shell(settled)), Layer.provide(machine), Layer.provide(Watchdog.layerOfStrays))

/** A project with this config, for a process that has several. */
const projectLayer = (settled: Settled) =>
  Layer.unwrapEffect(Effect.map(projectOptions(settled, settled.agents), Skein.project)).pipe(
    Layer.provide(shell(settled))
  )

/** The limits of a command line, for all projects of a process. */
interface Limits {
  readonly overrides?: ConfigFiles.ConfigOptions["overrides"]
  /** The steps of an agent that people prompt. */
  readonly steps?: number | undefined
  /** Whether the program says itself which agents are left out; else the log does. */
  readonly saysBroken?: boolean
}

/** The agents, with a step limit for the one with this name, or for all that people prompt. */
export const bounded = (agents: ReadonlyArray<AgentInfo>, steps: number | undefined, name?: string) =>
  steps === undefined ?
    agents :
    agents.map((agent) =>
      (name === undefined ? agent.mode !== "subagent" : agent.name === name) ? { ...agent, steps } : agent
    )

const logBroken = (warnings: ReadonlyArray<ConfigIssue>) =>
  Effect.forEach(
    warnings.filter(({ kind }) => kind === "broken"),
    (issue) => Effect.annotateLogs(Effect.logWarning(formatIssue(issue)), "notice", true),
    { discard: true }
  )

/** The project of a directory. It is read again each time its config changes. */
const openProject = Effect.fnUntraced(function*(directory: string, { overrides, saysBroken = false, steps }: Limits) {
  const unavailable = ({ message }: { readonly message: string }) => new ProjectUnavailable({ directory, message })
  const versionOf = ({ config, next }: ConfigVersion): ProjectVersion<ProjectNeeds> => ({
    layer: Effect.tap(
      withAgents(directory, config),
      ({ settings, warnings }) =>
        Effect.zipRight(hideConfigured(settings), saysBroken ? Effect.void : logBroken(warnings))
    ).pipe(
      Effect.map((settled) => projectLayer({ ...settled, agents: bounded(settled.agents, steps) })),
      Layer.unwrapEffect,
      Layer.mapError(unavailable)
    ),
    next: Effect.map(next, versionOf)
  })
  const options = { ...(yield* configOf(directory)), ...(overrides === undefined ? {} : { overrides }) }
  return versionOf(yield* Effect.mapError(follow(options), unavailable))
})

type ProjectNeeds = Layer.Layer.Context<ReturnType<typeof projectLayer>>

/** All services of Skein, for a process with one project for each directory. A runner of a cluster says its owner. */
export const manyServices = (
  asks: PermissionOptions["asks"],
  config: ConfigInfo = {},
  limits: Limits = {},
  runner?: Layer.Layer<Owner>
) =>
  Layer.unwrapEffect(
    Effect.flatMap(processOptions(asks, runner, config), (process) => {
      const graph = Skein.layerMany({ ...process, projects: (directory) => openProject(directory, limits), config })
      return withTaskLog(runner === undefined ? Layer.provideMerge(placement, graph) : graph)
    })
  ).pipe(Layer.provide(machine))

/** The files of a database. SQLite creates and removes the last three next to it. */
const databaseFiles = (database: string): ReadonlyArray<string> =>
  database === ":memory:" || isPostgres(database)
    ? []
    : ["", "-wal", "-shm", "-journal"].map((suffix) => `${database}${suffix}`)

const place = Effect.zipWith(
  DataDirs,
  environment,
  ({ cache, config, data, database, register, secretFiles = [], state }, variables) => ({
    dataDirectory: data,
    environment: variables,
    own: [cache, config],
    secret: [state, ...databaseFiles(database), ...secretFiles],
    register,
    settings: config
  })
)

/** What the tools of all projects share. */
const machine = Layer.unwrapEffect(
  Effect.map(
    place,
    (at) => Layer.merge(Layer.provideMerge(McpLoader.layer, BuiltinTools.layerMachine(at)), Worktrees.layer(at))
  )
)

const shell = ({ directory, settings: { sandbox = "auto", sandbox_network: network = false, ...settings } }: Settled) =>
  Layer.unwrapEffect(Effect.map(place, (at) => {
    const confined = { off: Sandbox.layerNoop, auto: Sandbox.layer, on: Sandbox.layerRequired }[sandbox]
    return BuiltinTools.layerShell({
      environment: at.environment,
      pass: settings.sandbox_env ?? [],
      set: settings.env ?? {},
      withheld: [...allKeyNames, ...Object.values(settings.provider ?? {}).flatMap(({ key_env }) => key_env ?? [])],
      sandbox: typeof confined === "function"
        ? confined({
          ...at,
          directory,
          network,
          asks: settings.sandbox_ask === "always",
          read: settings.sandbox_read ?? [],
          fixed: ShellHooks.scripts(settings, directory)
        })
        : confined
    })
  }))

/** The limits on a command line, as config. */
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
