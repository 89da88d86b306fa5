/** The composition root: all services of Skein, from what differs between its uses. */
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import { Ids } from "@skein/domain/Id"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Scope } from "effect/Scope"
import { Agent, builtins } from "./Agent.ts"
import { Answerer } from "./Answerer.ts"
import { Budget } from "./Budget.ts"
import { Bus } from "./Bus.ts"
import { Command, type CommandSource } from "./Command.ts"
import { Commands } from "./Commands.ts"
import { Config } from "./Config.ts"
import * as ControlReader from "./ControlReader.ts"
import { Governor } from "./Governor.ts"
import { Hooks } from "./Hooks.ts"
import { Instructions, Skill, type SkillSource } from "./Instructions.ts"
import { Confinement, Isolation } from "./Isolation.ts"
import { Journal } from "./Journal.ts"
import * as LayerGraph from "./LayerGraph.ts"
import { Leases } from "./Leases.ts"
import * as MonotonicClock from "./MonotonicClock.ts"
import { Owner } from "./Owner.ts"
import { Permission, type PermissionOptions } from "./Permission.ts"
import { Projects, type ProjectServices, type ProjectSource, type ProjectVersion } from "./Projects.ts"
import type { Provider } from "./Provider.ts"
import { Question } from "./Question.ts"
import { Session } from "./Session.ts"
import { SessionStorage } from "./SessionStorage.ts"
import { Spill } from "./Spill.ts"
import type { StorageHealth } from "./StorageHealth.ts"
import * as TaskControl from "./TaskControl.ts"
import { Tasks } from "./Tasks.ts"
import * as TaskTool from "./TaskTool.ts"
import { TodoList } from "./TodoList.ts"
import { type AnyTool, noSource, SharedTools, Tools, type ToolSource } from "./Tool.ts"
import { Whereabouts } from "./Whereabouts.ts"
import type { Workspaces } from "./Workspaces.ts"

/** What the sessions of a project have. Everything but the provider has a default without disk or network. */
export interface ProjectOptions {
  /** The access to models: the only required option. */
  readonly provider: Layer.Layer<Provider, unknown, unknown>
  /** The tools besides `task`; none by default. */
  readonly tools?: Effect.Effect<ReadonlyArray<AnyTool>, never, unknown>
  /** Tools that come and go, such as those of MCP servers; none by default. */
  readonly toolSource?: Effect.Effect<ToolSource, never, unknown>
  /** Where isolated tasks work. By default such tasks are refused. */
  readonly isolation?: Layer.Layer<Isolation>
  /** What confines commands: it decides whether trees may work in the mode `auto`. By default they may. */
  readonly confinement?: Layer.Layer<Confinement>
  /** Settings, or a layer that can find them. */
  readonly config?: ConfigInfo | Layer.Layer<Config, unknown, unknown>
  /** The agents; by default the built-in ones. */
  readonly agents?: Layer.Layer<Agent>
  /** Instructions for all agents; none by default. */
  readonly instructions?: Layer.Layer<Instructions>
  /** Where to find more commands; nowhere by default. */
  readonly commands?: CommandSource
  /** Where to find skills; nowhere by default. */
  readonly skills?: SkillSource
  /** Hooks, which receive events and may block or change what happens; none by default. */
  readonly hooks?: Layer.Layer<Hooks, unknown, unknown>
}

/** What a process has once, however many projects it holds. */
export interface ProcessOptions {
  /** Durable storage; in memory by default. */
  readonly storage?: Layer.Layer<SessionStorage, unknown, unknown>
  /** Where to keep long texts; in memory by default. */
  readonly spill?: Layer.Layer<Spill>
  /** The name of this process on a shared storage; random by default. */
  readonly owner?: Layer.Layer<Owner>
  /** How the files of trees get to other hosts; by default not at all. */
  readonly workspaces?: Layer.Layer<Workspaces>
  /** How to answer permission questions; by default `nobody`, which denies them. */
  readonly permission?: PermissionOptions
}

/** The options of a program with one project. */
export interface SkeinOptions extends ProjectOptions, ProcessOptions {}

/** The options of a program with a project for each directory. */
export interface ManyOptions<R = never> extends ProcessOptions {
  /** Reads the project of a directory; `Skein.project` makes its layers. */
  readonly projects: ProjectSource<R>
  /** How long an unused project stays open; see `Project.idleTimeToLive`. */
  readonly idleTimeToLive?: Duration.DurationInput
  /** The settings of the process: its limits apply to all projects together. */
  readonly config?: ConfigInfo
}

/** The services that a process has once, and that projects may use. */
export type ProcessServices =
  | Answerer
  | Bus
  | Governor
  | Ids
  | Journal
  | Leases
  | Owner
  | Permission
  | Question
  | SessionStorage
  | SharedTools
  | Spill
  | StorageHealth
  | TodoList
  | Whereabouts

/** What a program can call once the graph is built. */
export type SkeinServices = ManyServices | ProjectServices

/** The same for many projects; `Projects` opens the services of one of them. */
export type ManyServices = ProcessServices | Budget | Command | Projects | Session | Tasks

/** What one of the options holds. */
type Of<O, K extends PropertyKey> = K extends keyof O ? O[K] : never

type ErrorOf<L> = L extends Layer.Layer<infer _A, infer E, infer _R> ? E : never

type NeedsOf<L> = L extends Layer.Layer<infer _A, infer _E, infer R> ? R
  : L extends Effect.Effect<infer _A, infer _E, infer R> ? R
  : never

type NeedsOfSource<S> = S extends (directory: string) => Effect.Effect<ProjectVersion<infer R>, infer _E, infer R2> ?
  R | Exclude<R2, Scope> :
  never

/** A name that is not an option is a mistake. */
type Only<O, Options> = O & { readonly [K in Exclude<keyof O, keyof Options>]: never }

type ProjectKeys = "provider" | "config" | "hooks"

/** What the layers of options need from outside the graph. */
type ProjectNeeds<O> =
  | Exclude<NeedsOf<Of<O, "provider" | "hooks">>, Config | ProcessServices>
  | NeedsOf<Of<O, "config">>
  | Exclude<NeedsOf<Of<O, "tools" | "toolSource">>, ProcessServices | Exclude<ProjectServices, Tools> | Scope>

/** Options whose layers need nothing from outside: those of `Only`, for the code that builds the graph. */
interface Settled {
  readonly provider: Layer.Layer<Provider, never, Config | ProcessServices>
  readonly tools?: Effect.Effect<
    ReadonlyArray<AnyTool>,
    never,
    ProcessServices | Exclude<ProjectServices, Tools> | Scope
  >
  readonly toolSource?: Effect.Effect<
    ToolSource,
    never,
    ProcessServices | Exclude<ProjectServices, Tools> | Scope
  >
  readonly config?: ConfigInfo | Layer.Layer<Config>
  readonly hooks?: Layer.Layer<Hooks, never, Config | ProcessServices>
  readonly storage?: Layer.Layer<SessionStorage>
}

interface SettledProject extends Omit<ProjectOptions, keyof Settled>, Omit<Settled, "storage"> {}

interface SettledProcess extends Omit<ProcessOptions, "storage">, Pick<Settled, "storage"> {}

const isLayer = (config: ConfigInfo | Layer.Layer<Config>): config is Layer.Layer<Config> => Layer.isLayer(config)

const configOf = (config: ConfigInfo | Layer.Layer<Config> = {}): Layer.Layer<Config> =>
  isLayer(config) ? config : Config.layer(config)

/** All of a project but its settings. */
const projectOver = (options: SettledProject) =>
  Tools.layerOver(options.tools ?? Effect.succeed([]), options.toolSource ?? Effect.succeed(noSource)).pipe(
    Layer.provideMerge(Layer.mergeAll(
      options.provider,
      options.hooks ?? Hooks.layerNoop,
      options.isolation ?? Isolation.layerNone,
      options.confinement ?? Confinement.layerNoop,
      options.instructions ?? Instructions.layerNone,
      options.agents ?? Agent.layer(builtins),
      options.skills === undefined ? Skill.layerNone : Skill.layer(options.skills),
      options.commands === undefined ? Commands.layerNone : Commands.layer(options.commands)
    ))
  )

/** A graph of its own. Layers are shared by reference: two calls share none of its services, and one call is built once. */
const ownGraph = <A, E, R>(graph: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> =>
  Layer.scopedContext(LayerGraph.build(graph))

/** The ports of a process. What a program passes to two calls is one for both. */
const ports = ({ owner, spill, storage, workspaces }: SettledProcess) =>
  Layer.mergeAll(
    storage ?? ownGraph(SessionStorage.layerMemory),
    spill ?? ownGraph(Spill.layerMemory),
    workspaces ?? Layer.empty,
    ownGraph(Layer.provideMerge(owner ?? Owner.layer, Ids.layer))
  )

const process = (options: SettledProcess) => {
  const { asks, ...permission } = options.permission ?? { asks: "nobody" }
  return Layer.mergeAll(
    Governor.layer,
    Permission.layer(permission),
    Question.layer,
    SharedTools.layer,
    TodoList.layer
  )
    .pipe(
      Layer.provideMerge(Whereabouts.layer),
      Layer.provideMerge(Journal.layer),
      Layer.provideMerge(Leases.layer),
      Layer.provideMerge(Layer.merge(Answerer.layer(asks), Bus.layer))
    )
}

/** What runs sessions, each in its project. */
const running = Layer.mergeAll(TaskTool.layer, TaskControl.layer, Budget.layer, Command.layer, ControlReader.layer)
  .pipe(
    Layer.provideMerge(Session.layer),
    Layer.provideMerge(Tasks.layer)
  )

/** Builds the graph of services with one project, which all directories share. */
export function layer<O extends SkeinOptions>(
  options: Only<O, SkeinOptions>
): Layer.Layer<
  SkeinServices,
  ErrorOf<Of<O, ProjectKeys | "storage">>,
  ProjectNeeds<O> | Exclude<NeedsOf<Of<O, "storage">>, Config>
>
// The graph needs what the options need, and fails as they fail: here that is nothing.
export function layer(options: SettledProject & SettledProcess): Layer.Layer<SkeinServices> {
  const graph = running.pipe(
    Layer.provideMerge(Projects.layerOne),
    Layer.provideMerge(projectOver(options)),
    Layer.provideMerge(process(options))
  )
  return ownGraph(graph).pipe(
    Layer.provideMerge(ports(options)),
    Layer.provideMerge(configOf(options.config)),
    Layer.provideMerge(MonotonicClock.layer)
  )
}

/** The services of one of several projects, for `ProjectSource`. */
export function project<O extends ProjectOptions>(
  options: Only<O, ProjectOptions>
): Layer.Layer<ProjectServices, ErrorOf<Of<O, ProjectKeys>>, ProjectNeeds<O> | ProcessServices>
export function project(options: SettledProject): Layer.Layer<ProjectServices, never, ProcessServices> {
  return ownGraph(Layer.provideMerge(projectOver(options), configOf(options.config)))
}

/** Builds the graph of services with a project for each directory. */
export function layerMany<O extends ManyOptions<unknown>>(
  options: Only<O, ManyOptions>
): Layer.Layer<
  ManyServices,
  ErrorOf<Of<O, "storage">>,
  Exclude<NeedsOfSource<Of<O, "projects">>, ProcessServices> | NeedsOf<Of<O, "storage">>
>
export function layerMany(
  options: SettledProcess & Omit<ManyOptions<ProcessServices>, keyof ProcessOptions>
): Layer.Layer<ManyServices> {
  const { config, idleTimeToLive, projects } = options
  const graph = running.pipe(
    Layer.provideMerge(Projects.layer(projects, idleTimeToLive === undefined ? {} : { idleTimeToLive })),
    // Each project has its own settings; these are for what all of them share.
    Layer.provideMerge(Layer.provide(process(options), Config.layer(config)))
  )
  return ownGraph(graph).pipe(
    Layer.provideMerge(ports(options)),
    Layer.provideMerge(MonotonicClock.layer)
  )
}
