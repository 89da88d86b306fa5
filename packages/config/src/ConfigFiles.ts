/** Finds and reads the config files, and merges them into the settings of this process. */
import type * as FileSystem from "@effect/platform/FileSystem"
import { Config, defaults, type Settings, settle } from "@skein/core/Config"
import type { ConfigInfo, ProviderConfig } from "@skein/domain/ConfigInfo"
import * as Arr from "effect/Array"
import * as Env from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { ConfigError, type ConfigIssue } from "./ConfigError.ts"
import { DataDirs, realPath } from "./DataDirs.ts"
import type { BrokenAgent } from "./internal/agentFiles.ts"
import type { WhyNot } from "./internal/foreign.ts"
import { type ConfigPlace, locateFiles } from "./internal/locateFiles.ts"
import { mergeProject } from "./internal/mergeProject.ts"
import { type Grants, mainTree, type ProjectFiles, projectFiles } from "./internal/projectFiles.ts"
import {
  type ConfigEntry,
  entriesOf,
  fromInfo,
  merge,
  record,
  serverDirectories,
  type SourcedRecord,
  toValue,
  valueAt,
  withPlacedRules
} from "./internal/sourced.ts"
import type { TrustItem } from "./TrustItem.ts"

export type { Grants } from "./internal/projectFiles.ts"

/**
 * Why the models of a provider cannot be used, such as a missing key; undefined if they can. `config` is the user's
 * config.
 */
export type ProviderCheck = (providerID: string, config: ProviderConfig | undefined) => string | undefined

/** Where to look, and the overrides. */
export interface ConfigOptions {
  /** The working directory of the session. */
  readonly directory: string
  /** The settings of the command line; `origin` is the flag, such as `--concurrency`. */
  readonly overrides?: { readonly info: ConfigInfo; readonly origin: string }
  /** The providers whose models files of other programs may name; any if absent. */
  readonly whyNot?: ProviderCheck
  /** The providers that answer by the user's own settings: a project's models of any other need trust. */
  readonly vendors?: (user: Settings) => Effect.Effect<ReadonlyArray<string>>
}

/** The merged config of several files. */
export interface LoadedConfig {
  readonly settings: Settings
  /** The origin of every value by its path, as `file:line`, the name of a flag, or `default`. */
  readonly origins: Readonly<Record<string, string>>
  /** Every value that a file or a flag sets, in order. */
  readonly entries: ReadonlyArray<ConfigEntry>
  /** Ignored values of a project's files, and why. */
  readonly warnings: ReadonlyArray<ConfigIssue>
  /** The agents whose files cannot be used, and why; they do not exist. */
  readonly broken: ReadonlyArray<BrokenAgent>
  /** Values of a project's files that need trust; see `Trust`. */
  readonly widenings: ReadonlyArray<TrustItem>
  /** The files that were read; later ones override earlier ones. */
  readonly files: ReadonlyArray<string>
  /** Where each MCP server runs, by its name. */
  readonly serverDirectories: Readonly<Record<string, string>>
  /** The paths of the values that a project's files set. */
  readonly projectKeys: ReadonlySet<string>
  /** What the user grants to a project's files: pass it to the readers of instructions, commands and skills. */
  readonly grants: Grants
}

/** Reads the files of one place; those of a project name `project`. `seen` are the directories that were read before. */
const readPlace = Effect.fnUntraced(function*(
  place: ConfigPlace,
  around: {
    readonly home: string
    readonly seen: Set<string>
    readonly whyNot: WhyNot
    readonly project?: ProjectFiles
  }
) {
  const { home, project, seen, whyNot } = around
  /** What a file says; nothing of a hard link in the project, which may lead out of it. */
  const unlessLinked = <E, R>(path: string, layer: PlaceContent["layer"], read: Effect.Effect<PlaceContent, E, R>) =>
    Effect.flatMap(
      project?.linkRefusal(path) ?? Effect.succeed(undefined),
      (why): Effect.Effect<PlaceContent, E, R> =>
        why === undefined ? read : Effect.succeed({
          tree: record([], { name: path }),
          issues: [],
          warnings: [{ file: path, message: `is ignored: ${why}` }],
          broken: [],
          files: [path],
          ...(layer === undefined ? {} : { layer })
        })
    )
  const sourceOf = (path: string) => ({ path, home, ...(project === undefined ? {} : { project }) })
  const contents: Array<PlaceContent> = []
  if (place.servers !== undefined) {
    const { readMcpFile } = yield* Effect.promise(() => import("./internal/foreignServers.ts"))
    const path = place.servers
    const read = Effect.map(readMcpFile(sourceOf(path)), (content): PlaceContent => ({
      broken: [],
      ...content,
      files: [path],
      layer: "claude"
    }))
    contents.push(yield* unlessLinked(path, "claude", read))
  }
  for (const { path, program } of place.foreign) {
    const readForeign = yield* Effect.promise(() => foreignReaders[program]())
    const read = Effect.map(readForeign(sourceOf(path), whyNot), (content): PlaceContent => ({
      broken: [],
      ...content,
      files: [path],
      layer: program
    }))
    contents.push(yield* unlessLinked(path, program, read))
  }
  // Usually there are no files, and then neither a parser nor the schema is needed.
  if (place.agents.length > 0) {
    const { readAgents } = yield* Effect.promise(() => import("./internal/agentFiles.ts"))
    const { foreign, ...agents } = yield* readAgents(place.agents, { home, whyNot, project, seen })
    contents.push({ tree: foreign, issues: [], warnings: [], broken: [], files: [], layer: "agents" }, agents)
  }
  if (place.file !== undefined) {
    const { readConfigFile } = yield* Effect.promise(() => import("./internal/configFile.ts"))
    const path = place.file
    const read = Effect.map(readConfigFile(sourceOf(path)), (content): PlaceContent => ({
      ...content,
      broken: [],
      files: [path]
    }))
    contents.push(yield* unlessLinked(path, undefined, read))
  }
  return contents
})

/**
 * Reads the config for a directory: the user's, then that of each directory from the top of the tree down, then
 * `SKEIN_SANDBOX` and the overrides, each over the previous ones. In one directory skein.json overrides agent files. A file of another tool
 * lifts no denial or question of an earlier file. Fails with all mistakes in Skein's config files at once. A fault in
 * an agent's file disables only that agent, and a file of another tool never causes a failure.
 */
export const load = Effect.fn("ConfigFiles.load")(function*(options: ConfigOptions) {
  const dirs = yield* DataDirs
  const found = yield* locateFiles(options.directory, dirs.config)
  const seen = new Set<string>()
  const root = found.root ?? realPath(options.directory)
  const hasFiles = found.user !== undefined || found.project.length > 0
  const main = hasFiles && found.root !== undefined ? yield* mainTree(found.root) : undefined
  /** A relative path in the user's rules is one in the project, and in a project's it is relative to its directory. */
  const placedIn = <Part extends { readonly tree: SourcedRecord }>(base: string, part: Part): Part => ({
    ...part,
    tree: withPlacedRules(part.tree, {
      roots: main === undefined ? [root] : [root, main],
      base,
      home: dirs.home,
      keepsHome: true,
      real: realPath
    })
  })
  const own = found.user === undefined
    ? []
    : (yield* readPlace(found.user, { home: dirs.home, seen, whyNot: () => undefined })).map((part) =>
      placedIn(root, part)
    )
  const whyNot: WhyNot = (providerID) => {
    const mine = own.map(({ tree }) => valueAt(tree, "record", ["provider", providerID])).find((each) =>
      each !== undefined
    )
    // The schema validated it, so it has that type.
    return options.whyNot?.(providerID, mine === undefined ? undefined : toValue(mine) as ProviderConfig)
  }
  const user = own.map(({ tree }) => tree).reduce(merge, record([], { name: "default" }))
  // Only what a project says of models needs it.
  const vendors = Effect.suspend(() =>
    options.vendors?.(settle(toValue(user) as ConfigInfo)) ?? Effect.succeed<ReadonlyArray<string>>([])
  )
  const grants: Grants = { user, home: dirs.home, vendors: yield* Effect.cached(vendors) }
  const asked: Array<ProjectFiles["asked"]> = []
  const others = yield* Effect.forEach(found.project, (place) => {
    const project = projectFiles({
      root: found.root ?? place.directory,
      directory: options.directory,
      data: dirs.data,
      grants
    })
    asked.push(project.asked)
    return Effect.map(
      readPlace(place, { home: dirs.home, seen, whyNot, project }),
      (parts) => parts.map((part) => placedIn(place.directory, part))
    )
  })
  const contents = [...own, ...others.flat()]
  const issues = [...found.issues, ...contents.flatMap((content) => content.issues)]
  if (Arr.isNonEmptyReadonlyArray(issues)) {
    const { misspelt } = yield* Effect.promise(() => import("./AgentsConfig.ts"))
    const sound = contents.map(({ tree }) => tree).reduce(merge)
    const { mistakes } = misspelt(toValue(sound) as ConfigInfo, Object.fromEntries(entriesOf(sound).map(originOf)))
    return yield* ConfigError.of(Arr.appendAll(issues, mistakes))
  }

  const theirs = mergeProject(others.flat())
  const project = theirs.entries.size === 0
    ? { tree: theirs, items: [], warnings: [] }
    : yield* Effect.flatMap(
      Effect.promise(() => import("./internal/weigh.ts")),
      ({ judge }) =>
        judge({ grants, project: theirs, place: { root: found.root, directory: options.directory }, data: dirs.data })
    )
  const broken = contents.flatMap((content) => content.broken)
  const merged = withoutAgents(
    [project.tree, placedIn(realPath(options.directory), { tree: yield* overridesOf(options) }).tree].reduce(
      merge,
      user
    ),
    new Set(broken.map(({ name }) => name))
  )
  const entries = entriesOf(merged)
  return {
    // Merging validated parts key by key keeps the type.
    settings: settle(toValue(merged) as ConfigInfo),
    origins: {
      ...Object.fromEntries(entriesOf(fromInfo(defaults, { name: "default" })).map(originOf)),
      ...Object.fromEntries(entries.map(originOf))
    },
    entries,
    warnings: [
      ...contents.flatMap((content) => content.warnings),
      ...broken.flatMap((agent) => agent.issues.filter(({ kind }) => kind !== undefined)),
      ...project.warnings
    ],
    broken,
    widenings: [...project.items, ...asked.flat()],
    files: filesOf(contents),
    serverDirectories: serverDirectories(entries, filesOf(others.flat()), found.root ?? options.directory),
    projectKeys: new Set(entriesOf(project.tree).map(({ path }) => path.join("."))),
    grants
  } satisfies LoadedConfig
})

/** What counts over all files: the sandbox of the environment, and the overrides. */
const overridesOf = Effect.fnUntraced(function*({ overrides }: ConfigOptions) {
  const name = "SKEIN_SANDBOX"
  const over = overrides === undefined ? record([], { name }) : fromInfo(overrides.info, { name: overrides.origin })
  const given = yield* Effect.orElseSucceed(Env.option(Env.nonEmptyString(name)), Option.none)
  if (Option.isNone(given)) return over
  const sandbox = (["auto", "on", "off"] as const).find((each) => each === given.value)
  return sandbox === undefined
    ? yield* ConfigError.of([{ file: name, message: `There is no sandbox ${given.value}. Set it to auto, on or off.` }])
    : merge(fromInfo({ sandbox }, { name: `--sandbox or ${name}` }), over)
})

const foreignReaders = {
  claude: () => import("./internal/claudeSettings.ts").then(({ readClaudeSettings }) => readClaudeSettings),
  opencode: () => import("./internal/openCodeConfig.ts").then(({ readOpenCodeConfig }) => readOpenCodeConfig)
}

interface PlaceContent extends Pick<LoadedConfig, "broken" | "files" | "warnings"> {
  readonly tree: SourcedRecord
  readonly issues: ReadonlyArray<ConfigIssue>
  /** The other tool that this part comes from. */
  readonly layer?: "claude" | "opencode" | "agents"
}

const filesOf = (contents: ReadonlyArray<PlaceContent>): ReadonlyArray<string> => contents.flatMap(({ files }) => files)

/** Config elsewhere for an agent with an unusable file does not create the agent. */
const withoutAgents = (tree: SourcedRecord, names: ReadonlySet<string>): SourcedRecord => {
  const agents = valueAt(tree, "record", ["agent"])
  if (agents === undefined || names.size === 0) return tree
  const kept = record([...agents.entries].filter(([name]) => !names.has(name)), agents.origin)
  return { ...tree, entries: new Map(tree.entries).set("agent", kept) }
}

const originOf = ({ origin, path }: ConfigEntry) => [path.join("."), origin] as const

/** The content of the config files at the start of this process. */
export class ConfigFiles extends Context.Tag("@skein/config/ConfigFiles")<ConfigFiles, LoadedConfig>() {
  /** The settings of this process from files, and their origins. */
  static readonly layer = (
    options: ConfigOptions
  ): Layer.Layer<Config | ConfigFiles, ConfigError, DataDirs | FileSystem.FileSystem> =>
    Layer.effectContext(
      Effect.map(load(options), (loaded) => Context.make(ConfigFiles, loaded).pipe(Context.add(Config, loaded)))
    )
}
