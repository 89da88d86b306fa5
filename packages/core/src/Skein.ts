/** The composition root: all services of Skein from what differs between its uses. */
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import { Ids } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Scope } from "effect/Scope"
import { Agent, builtins } from "./Agent.ts"
import { Budget } from "./Budget.ts"
import { Bus } from "./Bus.ts"
import { Command, type CommandSource } from "./Command.ts"
import { Config } from "./Config.ts"
import { Governor } from "./Governor.ts"
import { Hooks } from "./Hooks.ts"
import { Instructions } from "./Instructions.ts"
import { Isolation } from "./Isolation.ts"
import { Journal } from "./Journal.ts"
import { Leases } from "./Leases.ts"
import * as MonotonicClock from "./MonotonicClock.ts"
import { Owner } from "./Owner.ts"
import { Permission, type PermissionOptions } from "./Permission.ts"
import type { Provider } from "./Provider.ts"
import { Question } from "./Question.ts"
import { Session } from "./Session.ts"
import { SessionStorage } from "./SessionStorage.ts"
import { Skill, type SkillSource } from "./Skill.ts"
import { Spill } from "./Spill.ts"
import * as TaskControl from "./TaskControl.ts"
import { Tasks } from "./Tasks.ts"
import { TaskTool } from "./TaskTool.ts"
import { TodoList } from "./TodoList.ts"
import { type AnyTool, Tools } from "./Tool.ts"

/** What a program chooses; everything but the provider has an answer that needs neither disk nor network. */
export interface SkeinOptions<
  EP,
  RP,
  ES = never,
  RS = never,
  RT = never,
  EC = never,
  RC = never,
  EH = never,
  RH = never
> {
  /** The way to models: the one thing that must be chosen. */
  readonly provider: Layer.Layer<Provider, EP, RP>
  /** What lasts; memory where absent. */
  readonly storage?: Layer.Layer<SessionStorage, ES, RS>
  /** The tools besides `task`; none where absent. */
  readonly tools?: Effect.Effect<ReadonlyArray<AnyTool>, never, RT>
  /** Where tasks work that are to work apart; none where absent, and such tasks are refused. */
  readonly isolation?: Layer.Layer<Isolation>
  /** Where long texts are kept; memory where absent. */
  readonly spill?: Layer.Layer<Spill>
  /** Settings, or a layer that knows where to find them. */
  readonly config?: ConfigInfo | Layer.Layer<Config, EC, RC>
  /** How this process is known to others on the same storage; by a name of chance where absent. */
  readonly owner?: Layer.Layer<Owner>
  /** The agents; the built-in ones where absent. */
  readonly agents?: Layer.Layer<Agent>
  /** What agents are told besides their own prompts; nothing where absent. */
  readonly instructions?: Layer.Layer<Instructions>
  /** Where commands are found besides those that are built in; nowhere where absent. */
  readonly commands?: CommandSource
  /** Where skills are found; nowhere where absent. */
  readonly skills?: SkillSource
  /** Who is told of what happens, and may block or change it; nobody where absent. */
  readonly hooks?: Layer.Layer<Hooks, EH, RH>
  /** How questions for permission are met; `nobody` where absent: what would be asked is denied. */
  readonly permission?: PermissionOptions
}

/** What a program can call once the graph is built. */
export type SkeinServices =
  | Agent
  | Budget
  | Bus
  | Command
  | Config
  | Governor
  | Hooks
  | Ids
  | Instructions
  | Isolation
  | Journal
  | Leases
  | Owner
  | Permission
  | Provider
  | Question
  | Session
  | SessionStorage
  | Skill
  | Spill
  | Tasks
  | TodoList
  | Tools

/** The ports and services that tools may ask for. */
type Ports = Agent | Bus | Hooks | Ids | Instructions | Isolation | Owner | Provider | SessionStorage | Skill | Spill

/** What tools need that the graph does not hold. */
type Outside<R> = Exclude<
  Exclude<Exclude<Exclude<Exclude<Exclude<R, Scope>, TodoList | Question>, Journal>, Leases | SessionStorage>, Ports>,
  Config
>

/** Builds the graph of services. */
export const layer = <EP, RP, ES = never, RS = never, RT = never, EC = never, RC = never, EH = never, RH = never>(
  options: SkeinOptions<EP, RP, ES, RS, RT, EC, RC, EH, RH>
): Layer.Layer<SkeinServices, EP | ES | EC | EH, Exclude<RP | RS | RH, Config> | RC | Outside<RT>> => {
  const config: Layer.Layer<Config, EC, RC> = options.config !== undefined && Layer.isLayer(options.config)
    ? options.config as Layer.Layer<Config, EC, RC>
    : Config.layer(options.config as ConfigInfo | undefined)
  const storage: Layer.Layer<SessionStorage, ES, RS> = options.storage ?? SessionStorage.layerMemory
  const hooks: Layer.Layer<Hooks, EH, RH> = options.hooks ?? Hooks.layerNoop
  const tools: Effect.Effect<ReadonlyArray<AnyTool>, never, RT> = options.tools ?? Effect.succeed([])

  const ports = Layer.mergeAll(
    options.provider,
    storage,
    hooks,
    options.spill ?? Spill.layerMemory,
    options.isolation ?? Isolation.layerNone,
    options.instructions ?? Instructions.layerNone,
    options.agents ?? Agent.layer(builtins),
    options.skills === undefined ? Skill.layerNone : Skill.layer(options.skills),
    Bus.layer,
    Layer.provideMerge(options.owner ?? Owner.layer, Ids.layer)
  )
  const permission = options.permission ?? { asks: "nobody" }
  const rules = Layer.mergeAll(
    Permission.layer(permission),
    Governor.layer,
    Tools.layer(tools).pipe(Layer.provideMerge(Layer.merge(TodoList.layer, Question.layer(permission))))
  )
  return Layer.mergeAll(TaskTool.layer, TaskControl.layer, Budget.layer, Command.layer(options.commands)).pipe(
    Layer.provideMerge(Tasks.layer),
    Layer.provideMerge(Session.layer),
    Layer.provideMerge(rules),
    Layer.provideMerge(Journal.layer),
    Layer.provideMerge(Leases.layer),
    Layer.provideMerge(ports),
    Layer.provideMerge(config),
    Layer.provideMerge(MonotonicClock.layer)
  )
}
