/** The composition root: all services of Skein, from what differs between its uses. */
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import type { Event } from "@skein/domain/Event"
import { Ids, type SessionID } from "@skein/domain/Id"
import type { PartInput } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import type { Scope } from "effect/Scope"
import * as Stream from "effect/Stream"
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
import { Titles } from "./internal/summary/makeSummary.ts"
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
import { type PromptOptions, Session, type SessionOptions, type Turn, type TurnEvent } from "./Session.ts"
import { SessionStorage } from "./SessionStorage.ts"
import { Spill } from "./Spill.ts"
import type { StorageHealth } from "./StorageHealth.ts"
import { ask } from "./Task.ts"
import * as TaskControl from "./TaskControl.ts"
import type { AskOptions } from "./TaskRequest.ts"
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
  /** The tools besides `task`, as values or as a layer; none by default. */
  readonly tools?: Effect.Effect<ReadonlyArray<AnyTool>, unknown, unknown> | Layer.Layer<Tools, unknown, unknown>
  /** Tools that come and go, such as those of MCP servers; none by default. */
  readonly toolSource?: Effect.Effect<ToolSource, unknown, unknown>
  /** Where isolated tasks work. By default such tasks are refused. */
  readonly isolation?: Layer.Layer<Isolation, unknown, unknown>
  /** What confines commands: it decides whether trees may work in the mode `auto`. By default they may. */
  readonly confinement?: Layer.Layer<Confinement, unknown, unknown>
  /** Settings, or a layer that can find them. */
  readonly config?: ConfigInfo | Layer.Layer<Config, unknown, unknown>
  /** The agents; by default the built-in ones. */
  readonly agents?: Layer.Layer<Agent, unknown, unknown>
  /** Instructions for all agents; none by default. */
  readonly instructions?: Layer.Layer<Instructions, unknown, unknown>
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
  readonly spill?: Layer.Layer<Spill, unknown, unknown>
  /** The name of this process on a shared storage; random by default. */
  readonly owner?: Layer.Layer<Owner, unknown, unknown>
  /** How the files of trees get to other hosts; by default not at all. */
  readonly workspaces?: Layer.Layer<Workspaces, unknown, unknown>
  /** Who hears what happens; a bus inside the process by default. */
  readonly bus?: Layer.Layer<Bus, unknown, unknown>
  /** Who answers permission questions, or a service that decides; by default `nobody`, which denies them. */
  readonly permission?: PermissionOptions | Layer.Layer<Permission, unknown, unknown>
  /** Whether a model makes the titles of sessions, by a request for each; by default they are the first words. */
  readonly titles?: boolean
  /** A service in place of `Session`, which it may use, to add to what it does. */
  readonly session?: Layer.Layer<Session, unknown, unknown>
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

type ErrorOf<L> = L extends Layer.Layer<infer _A, infer E, infer _R> ? E
  : L extends Effect.Effect<infer _A, infer E, infer _R> ? E
  : never

type NeedsOf<L> = L extends Layer.Layer<infer _A, infer _E, infer R> ? R
  : L extends Effect.Effect<infer _A, infer _E, infer R> ? R
  : never

type NeedsOfSource<S> = S extends (directory: string) => Effect.Effect<ProjectVersion<infer R>, infer _E, infer R2> ?
  R | Exclude<R2, Scope> :
  never

/** A name that is not an option is a mistake. */
type Only<O, Options> = O & { readonly [K in Exclude<keyof O, keyof Options>]: never }

/** The options with services of a project, which may use those of the process. */
type ServiceKeys = "agents" | "confinement" | "hooks" | "instructions" | "isolation" | "provider"

/** The options with tools, which may use those as well. */
type ToolKeys = "tools" | "toolSource"

type ProjectKeys = ServiceKeys | ToolKeys | "config"

/** The options with what a process stands on. */
type PortKeys = "bus" | "owner" | "spill" | "storage" | "workspaces"

/** The options in place of services. */
type CoreKeys = "permission" | "session"

/** What a service that decides on permission may use. */
type UnderPermission = Answerer | Bus | Config | Ids | Journal | Leases | Owner | SessionStorage | Spill | Whereabouts

/** What a service in place of `Session` may use. */
type UnderSession = Exclude<ManyServices, Command>

/** What the layers of options need from outside the graph. */
type ProjectNeeds<O> =
  | Exclude<NeedsOf<Of<O, ServiceKeys>>, Config | ProcessServices>
  | NeedsOf<Of<O, "config">>
  | Exclude<NeedsOf<Of<O, ToolKeys>>, ProcessServices | Exclude<ProjectServices, Tools> | Scope>

type ProcessNeeds<O> =
  | NeedsOf<Of<O, PortKeys>>
  | Exclude<NeedsOf<Of<O, "permission">>, UnderPermission>
  | Exclude<NeedsOf<Of<O, "session">>, UnderSession>

/** A layer that needs nothing else and does not fail, in place of any. */
type Settle<L, R> = L extends Layer.Layer<infer A, unknown, unknown> ? Layer.Layer<A, never, R>
  : L extends Effect.Effect<infer A, unknown, unknown> ? Effect.Effect<A, never, R>
  : L

/** Options whose layers need nothing from outside: those of `Only`, for the code that builds the graph. */
type SettledProject = {
  readonly [K in keyof ProjectOptions]: Settle<
    ProjectOptions[K],
    K extends ServiceKeys ? Config | ProcessServices
      : K extends ToolKeys ? ProcessServices | Exclude<ProjectServices, Tools> | Scope
      : never
  >
}

type SettledProcess = {
  readonly [K in keyof ProcessOptions]: Settle<
    ProcessOptions[K],
    K extends "permission" ? UnderPermission : K extends "session" ? UnderSession : never
  >
}

const isLayer = (given: unknown): given is Layer.Layer<never, unknown, unknown> => Layer.isLayer(given)

const configOf = (config: ConfigInfo | Layer.Layer<Config> = {}): Layer.Layer<Config> =>
  isLayer(config) ? config : Config.layer(config)

/** The tools of a project, however they are given. */
const toolsOf = ({ tools = Effect.succeed([]) }: SettledProject) =>
  isLayer(tools) ? Effect.map(Layer.build(tools), (built) => Context.get(built, Tools).all()) : tools

/** All of a project but its settings. */
const projectOver = (options: SettledProject) =>
  Tools.layerOver(toolsOf(options), options.toolSource ?? Effect.succeed(noSource)).pipe(
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
  const { permission = { asks: "nobody" } } = options
  return Layer.mergeAll(
    Governor.layer,
    isLayer(permission) ? permission : Permission.layer(permission),
    Question.layer,
    SharedTools.layer,
    TodoList.layer
  )
    .pipe(
      Layer.provideMerge(Whereabouts.layer),
      Layer.provideMerge(Journal.layer),
      Layer.provideMerge(Leases.layer),
      Layer.provideMerge(Layer.succeed(Titles, options.titles === true)),
      // Who replaces the service answers like a person: by `reply`.
      Layer.provideMerge(Answerer.layer(isLayer(permission) ? "person" : permission.asks)),
      Layer.provideMerge(options.bus ?? Bus.layer)
    )
}

/** What runs sessions, each in its project. */
const running = ({ session = Layer.context<Session>() }: SettledProcess) =>
  Layer.mergeAll(TaskTool.layer, TaskControl.layer, Command.layer, ControlReader.layer)
    .pipe(
      Layer.provideMerge(session),
      Layer.provideMerge(Budget.layer),
      Layer.provideMerge(Session.layer),
      Layer.provideMerge(Tasks.layer)
    )

/** Builds the graph of services with one project, which all directories share. */
export function layer<O extends SkeinOptions>(
  options: Only<O, SkeinOptions>
): Layer.Layer<
  SkeinServices,
  ErrorOf<Of<O, ProjectKeys | PortKeys | CoreKeys>>,
  ProjectNeeds<O> | Exclude<ProcessNeeds<O>, Config>
>
// The graph needs what the options need, and fails as they fail: here that is nothing.
export function layer(options: SettledProject & SettledProcess): Layer.Layer<SkeinServices> {
  const graph = running(options).pipe(
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
  ErrorOf<Of<O, PortKeys | CoreKeys>>,
  Exclude<NeedsOfSource<Of<O, "projects">>, ProcessServices> | ProcessNeeds<O>
>
export function layerMany(
  options: SettledProcess & Omit<ManyOptions<ProcessServices>, keyof ProcessOptions>
): Layer.Layer<ManyServices> {
  const { config, idleTimeToLive, projects } = options
  const graph = running(options).pipe(
    Layer.provideMerge(Projects.layer(projects, idleTimeToLive === undefined ? {} : { idleTimeToLive })),
    // Each project has its own settings; these are for what all of them share.
    Layer.provideMerge(Layer.provide(process(options), Config.layer(config)))
  )
  return ownGraph(graph).pipe(
    Layer.provideMerge(ports(options)),
    Layer.provideMerge(MonotonicClock.layer)
  )
}

/** Sessions for programs without Effect: see `promise`. */
export interface Promised {
  /** Makes a root session. */
  readonly create: (options: SessionOptions) => Promise<SessionInfo>
  /** Prompts a session, and waits for the answer. Aborting stops the turn. */
  readonly prompt: (
    id: SessionID,
    prompt: string | ReadonlyArray<PartInput>,
    options?: PromptOptions & Abortable
  ) => Promise<Turn>
  /** Prompts a session, and tells what happens; `turn.ended` comes last. Leaving the loop, or aborting, stops the turn. */
  readonly stream: (
    id: SessionID,
    prompt: string | ReadonlyArray<PartInput>,
    options?: PromptOptions & Abortable
  ) => AsyncIterable<TurnEvent>
  /** The events of a tree: those stored after `after`, then those that happen. */
  readonly events: (id: SessionID, from?: { readonly after?: number } & Abortable) => AsyncIterable<Event>
  /** Asks an agent for a text, in a session of its own. */
  readonly ask: (agent: string, prompt: string, options?: Omit<AskOptions, "output"> & Abortable) => Promise<string>
  /** Stops a session and everything below it. */
  readonly stop: (id: SessionID) => Promise<void>
  /** Runs any effect with the services of the graph. */
  readonly run: <A, E>(effect: Effect.Effect<A, E, SkeinServices>, options?: Abortable) => Promise<A>
  /** Leaves what is at work, and ends everything. What is unfinished in a durable storage is what `Session.resumeAll` continues. */
  readonly close: () => Promise<void>
}

/** A call that can be aborted. */
interface Abortable {
  readonly signal?: AbortSignal | undefined
}

const aborted = (signal: AbortSignal) =>
  Effect.async<void>((resume) => {
    const abort = () => resume(Effect.void)
    if (signal.aborted) return abort()
    signal.addEventListener("abort", abort, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", abort))
  })

/** The value, or a rejection with the error itself. */
const settled = <A, E>(exit: Exit.Exit<A, E>): Promise<A> =>
  Exit.isSuccess(exit) ? Promise.resolve(exit.value) : Promise.reject(Cause.squash(exit.cause))

/** Leaves all trees at work, so that another process can continue them. One that cannot be left is stopped with the graph. */
const leaveAll = Effect.flatMap(Session, (session) =>
  Effect.forEach(
    new Set(session.atWork().map(({ info }) => info.rootID)),
    (rootID) =>
      Effect.catchAll(session.leave(rootID), ({ message }) => Effect.logWarning(`${rootID} was not left`, message)),
    { concurrency: "unbounded", discard: true }
  ))

/**
 * The same graph for programs without Effect: as promises, which reject with the error itself, and as async iterables. All
 * layers of the options must need nothing else.
 */
export function promise<const O extends SkeinOptions>(
  options: Only<O, SkeinOptions> & ([Layer.Layer.Context<ReturnType<typeof layer<O>>>] extends [never] ? O : never)
): Promise<Promised>
export async function promise(options: SettledProject & SettledProcess): Promise<Promised> {
  const runtime = ManagedRuntime.make(layer(options))
  const services = await settled(await Effect.runPromiseExit(runtime.runtimeEffect))
  let isClosed = false
  const open = Effect.suspend(() => isClosed ? Effect.die(new Error("These sessions were closed.")) : Effect.void)
  const run = async <A, E>(effect: Effect.Effect<A, E, SkeinServices>, { signal }: Abortable = {}) => {
    const opened = Effect.provide(Effect.zipRight(open, effect), services)
    return settled(await Effect.runPromiseExit(opened, signal === undefined ? {} : { signal }))
  }
  const iterate = <A, E>(stream: Stream.Stream<A, E, SkeinServices>, { signal }: Abortable = {}) => {
    const opened = Stream.flatMap(open, () => stream)
    return Stream.toAsyncIterableRuntime(
      signal === undefined ? opened : Stream.interruptWhen(opened, aborted(signal)),
      services
    )
  }
  return {
    create: (given) => run(Session.create(given)),
    prompt: (id, prompt, { signal, ...given } = {}) => run(Session.prompt(id, prompt, given), { signal }),
    stream: (id, prompt, { signal, ...given } = {}) => iterate(Session.stream(id, prompt, given), { signal }),
    events: (id, { signal, ...from } = {}) => iterate(Session.events(id, from), { signal }),
    ask: (agent, prompt, { signal, ...given } = {}) => run(ask(agent, prompt, given), { signal }),
    stop: (id) => run(Effect.flatMap(Session, (session) => session.stop(id))),
    run,
    close: async () => {
      if (isClosed) return
      await run(leaveAll)
      isClosed = true
      await runtime.dispose()
    }
  }
}
