/** The composition root of tests: all of Skein in memory, with scripted models. */
import { Agent } from "@skein/core/Agent"
import type { CommandSource } from "@skein/core/Command"
import type { Config } from "@skein/core/Config"
import { type Hook, Hooks } from "@skein/core/Hooks"
import type { Instructions } from "@skein/core/Instructions"
import type { Confinement } from "@skein/core/Isolation"
import type { Owner } from "@skein/core/Owner"
import type { PermissionOptions } from "@skein/core/Permission"
import type { Question } from "@skein/core/Question"
import type { SessionStorage } from "@skein/core/SessionStorage"
import * as Skein from "@skein/core/Skein"
import { type AnyTool, define, type Tool, type ToolContext, type ToolError, type ToolSource } from "@skein/core/Tool"
import type { Workspaces } from "@skein/core/Workspaces"
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import { fromConfig, type PermissionConfig } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Scripted from "./ScriptedProvider.ts"

/** The options of a test besides the script. */
export interface SkeinTestOptions {
  /** Agents besides the built-in ones; they replace those of the same name. */
  readonly agents?: ReadonlyArray<AgentInfo>
  /** Rules for all agents, below the rules of each. */
  readonly rules?: PermissionConfig
  /** Tools besides `task`. */
  readonly tools?: ReadonlyArray<AnyTool>
  /** Tools that come and go; none by default. What makes them may use the questions of the stack. */
  readonly toolSource?: ToolSource | Effect.Effect<ToolSource, never, Question | Scope.Scope>
  readonly config?: ConfigInfo | Layer.Layer<Config>
  readonly hooks?: ReadonlyArray<Hook>
  /** What confines commands; by default the mode `auto` is never refused. */
  readonly confinement?: Layer.Layer<Confinement>
  /** How to answer permission questions; by default `nobody`, which denies them. */
  readonly asks?: PermissionOptions["asks"]
  /** What `~/` means in rules; by default nothing. */
  readonly home?: PermissionOptions["home"]
  /** Where to find more commands; nowhere by default. */
  readonly commands?: CommandSource
  /** Instructions for all agents; none by default. */
  readonly instructions?: Layer.Layer<Instructions>
  /** Whether the model makes titles; by default not. */
  readonly titles?: boolean
  /** Durable storage; in memory by default. */
  readonly storage?: Layer.Layer<SessionStorage>
  /** The identity of this stack for others on the same storage. */
  readonly owner?: Layer.Layer<Owner>
  /** How files get to other hosts; by default not at all. */
  readonly workspaces?: Layer.Layer<Workspaces>
}

/** The scripts of the agents, or a provider: a scripted one that was made before, or any other. */
export type Scripts = Parameters<typeof Scripted.make>[0] | Pick<Scripted.Scripted, "layer">

/** All services of Skein, without network, disk or real time: under TestClock an agent's hour takes milliseconds. */
export const layer = (
  scripts: Scripts,
  options: SkeinTestOptions = {}
) =>
  Skein.layer({
    provider: isMade(scripts) ? scripts.layer : Scripted.layer(scripts),
    agents: Agent.layerWith(options.agents ?? [], fromConfig(options.rules ?? {})),
    tools: Effect.succeed(options.tools ?? []),
    ...(options.confinement === undefined ? {} : { confinement: options.confinement }),
    ...(options.toolSource === undefined ? {} : { toolSource: sourceOf(options.toolSource) }),
    permission: {
      asks: options.asks ?? "nobody",
      ...(options.home === undefined ? {} : { home: options.home })
    },
    config: options.config ?? {},
    titles: options.titles ?? false,
    hooks: options.hooks === undefined ? Hooks.layerNoop : Hooks.layer(options.hooks),
    ...(options.storage === undefined ? {} : { storage: options.storage }),
    ...(options.commands === undefined ? {} : { commands: options.commands }),
    ...(options.instructions === undefined ? {} : { instructions: options.instructions }),
    ...(options.owner === undefined ? {} : { owner: options.owner }),
    ...(options.workspaces === undefined ? {} : { workspaces: options.workspaces })
  })

const sourceOf = (source: NonNullable<SkeinTestOptions["toolSource"]>) =>
  Effect.isEffect(source) ? source : Effect.succeed(source)

const isMade = (scripts: Scripts): scripts is Pick<Scripted.Scripted, "layer"> =>
  "layer" in scripts && Layer.isLayer(scripts.layer)

/** The options of an agent; by default a subagent without its own rules. */
export interface TestAgent extends Partial<Omit<AgentInfo, "name" | "permission" | "ceiling">> {
  readonly permission?: PermissionConfig
  readonly ceiling?: PermissionConfig
}

/** An agent: `agent("lead", { permission: { task: "allow" } })` is a subagent that may start others. */
export const agent = (name: string, { ceiling, permission, ...info }: TestAgent = {}): AgentInfo => ({
  name,
  mode: "subagent",
  model: [],
  hidden: false,
  origin: "test",
  ...info,
  permission: fromConfig(permission ?? {}),
  ...(ceiling === undefined ? {} : { ceiling: fromConfig(ceiling) })
})

/** The arguments of a test's tool, unless it has its own parameters. */
export type TestInput = Readonly<Record<string, unknown>>

/**
 * A tool that accepts any arguments, needs no permission, and returns a text: `tool("echo", ({ words }) =>
 * Effect.succeed(String(words)))`.
 */
export const tool = (
  name: string,
  run: (input: TestInput, context: ToolContext) => Effect.Effect<string, ToolError>,
  more: Partial<Omit<Tool<TestInput>, "name" | "execute" | "describe">> = {}
): AnyTool =>
  define<TestInput>({
    name,
    describe: `The tool ${name} of a test.`,
    parameters: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
    effect: "safe",
    title: () => name,
    authorise: () => Effect.succeed([]),
    execute: (input, context) => Effect.map(run(input, context), (output) => ({ title: name, output, metadata: {} })),
    ...more
  })
