/** Decides what the agents are: the built-in ones as config changes them, and those that config adds. */
import { Agent, builtins, defaultRules } from "@skein/core/Agent"
import { Config, type Settings } from "@skein/core/Config"
import { nearest } from "@skein/core/Nearest"
import { denials } from "@skein/core/Ruleset"
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { AgentConfig } from "@skein/domain/ConfigInfo"
import { faultOf } from "@skein/domain/JsonSchemaTree"
import { type ModelRef, parseRef } from "@skein/domain/Model"
import { fromConfig, type Ruleset } from "@skein/domain/Rule"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { ConfigError, type ConfigIssue } from "./ConfigError.ts"
import { narrow, within } from "./internal/narrow.ts"

/** The agents of a process, and the rules that hold for all of them: the two arguments of `Agent.layer`. */
export interface Agents {
  readonly agents: ReadonlyArray<AgentInfo>
  readonly permission: Ruleset
}

/**
 * Puts the agents of config over the built-in ones. What a built-in agent denies, and its ceiling, stay whatever config
 * says; `origins` are those of the config, for messages and for the origin of each agent.
 */
export const agentsFrom = (
  settings: Settings,
  builtIn: ReadonlyArray<AgentInfo>,
  origins: Readonly<Record<string, string>> = {}
): Either.Either<Agents, ConfigError> => {
  const issues: Array<ConfigIssue> = []
  const report = (key: string, message: string) => issues.push({ ...place(originOf(origins, key)), key, message })
  const permission = fromConfig(settings.permission ?? {})
  const configured = new Map(Object.entries(settings.agent ?? {}))
  const known = new Map(builtIn.map((agent) => [agent.name, agent]))

  const agents = [...new Set([...known.keys(), ...configured.keys()])].flatMap((name): ReadonlyArray<AgentInfo> => {
    const config = configured.get(name) ?? {}
    const path = `agent.${name}`
    // Names stand in rules, where `*` and `?` are wildcards, and in what models and people read.
    if (!/^[\p{L}\p{N}_][\p{L}\p{N}_./-]*$/u.test(name)) {
      report(path, `${JSON.stringify(name)} is no name for an agent; use letters, digits and _ . / -`)
      return []
    }
    if (config.disable === true) return []
    const builtin = known.get(name)
    const model = config.model === undefined ?
      builtin?.model ?? [] :
      toModels(
        config.model,
        (text) => report(`${path}.model`, `${path}.model: ${JSON.stringify(text)} is no model; write provider/model`)
      )
    const fault = config.output === undefined ? undefined : faultOf(config.output)
    if (fault !== undefined) report(`${path}.output`, `${path}.output: ${fault}`)
    const base = builtin?.permission ?? []
    const own = ownRules(config, [...defaultRules, ...permission, ...base])
    const ceiling = ceilingOf(config, builtin)
    return [{
      // Only what is there may be copied: an absent field of config must not hide the built-in one.
      ...builtin,
      ...fields(config),
      name,
      mode: config.mode ?? builtin?.mode ?? "all",
      model,
      // Rules for all agents stand before an agent's own, where a built-in `allow` would lift what they take away.
      permission: base.length === 0 ? own : [...base, ...narrow(base, [...permission, ...own])],
      ...(ceiling === undefined ? {} : { ceiling }),
      hidden: config.hidden ?? builtin?.hidden ?? false,
      origin: configured.has(name) ? originOf(origins, path) : builtin?.origin ?? "config"
    }]
  })

  checkDefault(settings.default_agent, agents, configured, origins, report)
  return Arr.isNonEmptyReadonlyArray(issues)
    ? Either.left(ConfigError.of(issues))
    : Either.right({ agents, permission })
}

/** The agents of config over those that Skein brings. */
export const layer: Layer.Layer<Agent, ConfigError, Config> = Layer.unwrapEffect(
  Effect.flatMap(
    Config,
    ({ origins, settings }) =>
      Effect.map(agentsFrom(settings, builtins, origins), ({ agents, permission }) => Agent.layer(agents, permission))
  )
)

const fields = (config: AgentConfig): Partial<AgentInfo> => ({
  ...(config.description === undefined ? {} : { description: config.description }),
  ...(config.variant === undefined ? {} : { variant: config.variant }),
  ...(config.temperature === undefined ? {} : { temperature: config.temperature }),
  ...(config.topP === undefined ? {} : { topP: config.topP }),
  ...(config.prompt === undefined ? {} : { prompt: config.prompt }),
  ...(config.prompt_mode === undefined ? {} : { promptMode: config.prompt_mode }),
  ...(config.steps === undefined ? {} : { steps: config.steps }),
  ...(config.timeout === undefined ? {} : { timeout: config.timeout }),
  ...(config.maxRetries === undefined ? {} : { maxRetries: config.maxRetries }),
  ...(config.budget === undefined ? {} : { budget: config.budget }),
  ...(config.isolation === undefined ? {} : { isolation: config.isolation }),
  ...(config.output === undefined ? {} : { output: config.output }),
  ...(config.color === undefined ? {} : { color: config.color })
})

const toModels = (model: string | ReadonlyArray<string>, bad: (text: string) => void): ReadonlyArray<ModelRef> =>
  (typeof model === "string" ? [model] : model).flatMap((text) => {
    const ref = parseRef(text)
    if (ref === undefined) bad(text)
    return ref === undefined ? [] : [ref]
  })

/** Tools that go by the permission of another: who is allowed that one has them all. */
const families: Readonly<Record<string, ReadonlyArray<string>>> = {
  edit: ["write", "patch"],
  task: ["task_status", "task_message", "task_stop", "task_wait"]
}

/** Permissions that are no tools: a list of tools says nothing of them. */
const toolless = ["external_directory", "doom_loop", "task_model", "task_agent"]

/** What an agent's config says of permission; `before` is what holds without it, which a list of tools falls back to. */
const ownRules = (config: AgentConfig, before: Ruleset): Ruleset => {
  const listed = [
    ...(config.allowedTools === undefined ? [] : only(config.allowedTools, before)),
    ...(config.allowAgents === undefined ? [] : onlyAgents(config.allowAgents, before)),
    ...(config.deniedTools ?? []).map((tool) => ({ permission: tool, pattern: "*", action: "deny" as const }))
  ]
  return [...listed, ...narrow(listed, fromConfig(config.permission ?? {}))]
}

const only = (tools: ReadonlyArray<string>, before: Ruleset): Ruleset => {
  const keys = new Set(
    tools.map((tool) => Object.keys(families).find((key) => families[key]?.includes(tool) === true) ?? tool)
  )
  const members = [...keys].flatMap((key) => families[key] ?? [])
  // A rule for everything is none for a tool by name, and must not become one here.
  const named = before.filter(({ permission }) => permission !== "*")
  return [
    { permission: "*", pattern: "*", action: "deny" },
    ...[...keys, ...toolless].flatMap((key) => within(before, key)),
    ...members.flatMap((name) => within(named, name))
  ]
}

const onlyAgents = (names: ReadonlyArray<string>, before: Ruleset): Ruleset => [
  { permission: "task", pattern: "*", action: "deny" },
  ...names.flatMap((name) => within(before, "task", name))
]

const ceilingOf = (config: AgentConfig, builtin: AgentInfo | undefined): Ruleset | undefined => {
  if (config.ceiling === undefined) return builtin?.ceiling
  const declared = fromConfig(config.ceiling)
  if (builtin === undefined) return declared
  const base = builtin.ceiling ?? denials(builtin.permission)
  return [...base, ...narrow(base, declared)]
}

const originOf = (origins: Readonly<Record<string, string>>, key: string): string =>
  origins[key] ?? Object.entries(origins).findLast(([path]) => path.startsWith(`${key}.`))?.[1] ?? "config"

const place = (origin: string): Pick<ConfigIssue, "file" | "line"> => {
  const [, file = origin, line] = /^(.*):(\d+)$/s.exec(origin) ?? []
  return line === undefined ? { file } : { file, line: Number(line) }
}

const checkDefault = (
  name: string,
  agents: ReadonlyArray<AgentInfo>,
  configured: ReadonlyMap<string, AgentConfig>,
  origins: Readonly<Record<string, string>>,
  report: (key: string, message: string) => void
): void => {
  // Where config says nothing of it, those who give the agents answer for there being a default one.
  const chosen = (origins["default_agent"] ?? "default") !== "default"
  const agent = agents.find((each) => each.name === name)
  if (agent?.mode === "subagent") {
    report("default_agent", `${name} is a subagent; the default agent must be primary, or of mode all`)
  } else if (agent === undefined && configured.get(name)?.disable === true) {
    report("default_agent", `${name} is disabled; set default_agent to another agent`)
  } else if (agent === undefined && chosen) {
    const meant = nearest(name, agents.map((each) => each.name))
    report(
      "default_agent",
      `there is no agent ${JSON.stringify(name)}${meant === undefined ? "" : `; did you mean "${meant}"?`}`
    )
  }
}
