/** Builds the agents: the built-in ones with the changes of the config, and those that the config adds. */
import { Agent, builtins, defaultRules } from "@skein/core/Agent"
import { Config, defaults, type Settings } from "@skein/core/Config"
import { denials } from "@skein/core/Ruleset"
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { AgentConfig, ConfigInfo } from "@skein/domain/ConfigInfo"
import { faultOf } from "@skein/domain/JsonSchema"
import { lookup, nearest, similar } from "@skein/domain/Lookup"
import { type ModelRef, parseRef } from "@skein/domain/Model"
import { fromConfig, type PermissionConfig, type Ruleset } from "@skein/domain/Rule"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { ConfigError, type ConfigIssue, formatIssue } from "./ConfigError.ts"
import { type BrokenAgent, isAgentName, namesForAgents } from "./internal/agentFiles.ts"
import { narrow, within } from "./internal/mergeProject.ts"
import { isForeignFile } from "./internal/projectFiles.ts"
import { rulePath } from "./internal/sourced.ts"

/** The permissions, and the tools that rules can name. */
const permissionKeys: ReadonlyArray<string> =
  `bash bash_credentials bash_network bash_write doom_loop edit external_directory glob grep list patch question read skill task
  task_agent task_message task_model task_status task_stop task_wait todoread todowrite webfetch write`.split(/\s+/)

/** A key that may be misspelt: where it stands, and what it may stand for. */
interface MisspeltKey {
  readonly path: string
  readonly key: string
  readonly meant: string
}

const inRules = (path: string, config: PermissionConfig | undefined): ReadonlyArray<MisspeltKey> =>
  [...new Set(fromConfig(config ?? {}).map(({ permission }) => permission))].flatMap((key) => {
    if (permissionKeys.includes(key) || /[*?]/.test(key)) return []
    const meant = similar(key, permissionKeys) ??
      (key.length > 3 ? permissionKeys.find((each) => each.startsWith(key)) : undefined)
    return meant === undefined ? [] : [{ path: `${path}.${key}`, key, meant }]
  })

/** The misspelt keys of all rules. */
const misspeltKeys = ({ agent = {}, permission }: Pick<ConfigInfo, "agent" | "permission">) => [
  ...inRules("permission", permission),
  ...Object.entries(agent).flatMap(([name, { ceiling, permission: own }]) => [
    ...inRules(`agent.${name}.permission`, own),
    ...inRules(`agent.${name}.ceiling`, ceiling)
  ])
]

/** The agents of a process, and the rules for all of them: the arguments of `Agent.layer`. */
export interface Agents {
  readonly agents: ReadonlyArray<AgentInfo>
  readonly permission: Ruleset
  /** The agents whose files cannot be used, and why. */
  readonly broken: ReadonlyArray<{ readonly name: string; readonly message: string }>
  /**
   * The agent of a new session: the configured one, or another if that does not exist and no file of Skein names it.
   */
  readonly defaultAgent: string
  /** What is ignored, and why. */
  readonly warnings: ReadonlyArray<ConfigIssue>
}

/**
 * Lays the agents of the config over the built-in ones. The denials and the ceiling of a built-in agent stay whatever
 * the config says. `origins` are those of the config, for messages and for the origin of each agent; `unusable` are
 * agents whose files cannot be used.
 */
export const agentsFrom = (
  settings: Settings,
  builtIn: ReadonlyArray<AgentInfo>,
  origins: Readonly<Record<string, string>> = {},
  unusable: ReadonlyArray<BrokenAgent> = []
): Either.Either<Agents, ConfigError> => {
  const { mistakes, warnings } = misspelt(settings, origins)
  const issues = mistakes.filter(({ key }) => key?.startsWith("permission."))
  const broken = new Map<string, ReadonlyArray<ConfigIssue>>()
  for (const { issues: why, name } of unusable) broken.set(name, [...broken.get(name) ?? [], ...why])
  const report = (key: string, message: string) => issues.push({ ...place(originOf(origins, key)), key, message })
  const rulesAt = (path: ReadonlyArray<string>, config: PermissionConfig = {}): Ruleset =>
    fromConfig(config).map((rule) => {
      const origin = origins[rulePath(path, rule).join(".")]
      return origin === undefined ? rule : { ...rule, origin }
    })
  const permission = rulesAt(["permission"], settings.permission)
  const configured = new Map(Object.entries(settings.agent ?? {}))
  const known = new Map(builtIn.map((agent) => [agent.name, agent]))

  const agents = [...new Set([...known.keys(), ...configured.keys()])].flatMap((name): ReadonlyArray<AgentInfo> => {
    const config = configured.get(name) ?? {}
    const path = `agent.${name}`
    const before = issues.length
    issues.push(...mistakes.filter(({ key }) => key?.startsWith(`${path}.`)))
    if (!isAgentName(name)) report(path, `${JSON.stringify(name)} is not a valid agent name; ${namesForAgents}`)
    const builtin = known.get(name)
    const why = broken.get(name)
    // A hidden agent is not the one that another tool's file means.
    const isOther = builtin?.hidden === true && why?.every(({ kind }) => kind !== undefined) === true
    if ((why !== undefined && !isOther) || config.disable === true) return []
    const model = config.model === undefined ?
      builtin?.model ?? [] :
      toModels(
        config.model,
        (text) => report(`${path}.model`, `${path}.model: ${JSON.stringify(text)} is not a model; write provider/model`)
      )
    const fault = config.output === undefined ? undefined : faultOf(config.output)
    if (fault !== undefined) report(`${path}.output`, `${path}.output: ${fault}`)
    const base = builtin?.permission ?? []
    const said = rulesAt(["agent", name, "permission"], config.permission)
    const own = ownRules(config, said, [...defaultRules, ...permission, ...base])
    // A fault in an agent's file disables only that agent.
    const wrong = issues.slice(before)
    if (wrong.length > 0 && wrong.every(({ file }) => file.endsWith(".md"))) {
      broken.set(name, wrong)
      issues.length = before
      return []
    }
    return [{
      // Copies only present fields: an absent field of the config must not hide the built-in one.
      ...builtin,
      ...fields(config),
      name,
      mode: config.mode ?? builtin?.mode ?? "all",
      model,
      // Rules for all agents come before an agent's own, where a built-in `allow` would lift their denials.
      permission: base.length === 0 ? own : [...base, ...narrow(base, [...permission, ...own])],
      ...ceilingOf(config.ceiling && rulesAt(["agent", name, "ceiling"], config.ceiling), builtin),
      hidden: config.hidden ?? builtin?.hidden ?? false,
      origin: configured.has(name) ? originOf(origins, path) : builtin?.origin ?? "config"
    }]
  })

  const fault = broken.has(settings.default_agent)
    ? undefined
    : faultOfDefault(settings.default_agent, agents, configured, origins)
  const usual = agents.some(({ mode, name }) => name === settings.default_agent && mode !== "subagent")
  if (fault !== undefined) {
    const origin = place(originOf(origins, "default_agent"))
    const issue = { ...origin, key: "default_agent", message: fault }
    if (isForeignFile(origin.file)) warnings.push({ ...issue, kind: "note" })
    // A flag is its own origin.
    else issues.push(origin.file.startsWith("--") ? issue : { ...issue, message: `default_agent: ${fault}` })
  }
  const isAsked = isOtherThanDefault(origins) && !warnings.some(({ key }) => key === "default_agent")
  return Arr.isNonEmptyReadonlyArray(issues)
    ? Either.left(ConfigError.of(issues))
    : Either.right({
      agents,
      permission,
      broken: [...broken].map(([name, why]) => ({ name, message: why.map(formatIssue).join("\n") })),
      defaultAgent: (usual && fault === undefined) || isAsked ? settings.default_agent : otherDefault(agents),
      warnings: [
        ...warnings,
        ...[...broken].flatMap(([name, [first, ...more]]): ReadonlyArray<ConfigIssue> =>
          first === undefined || first.kind !== undefined ? [] : [{
            ...first,
            kind: "broken",
            message: `${first.message}${more.length === 0 ? "" : ` (and ${more.length} more)`}; the agent ${
              JSON.stringify(name)
            } is left out`
          }]
        )
      ]
    })
}

/** The agent of a new session if the config names none: the built-in one, or the first primary one. */
const otherDefault = (agents: ReadonlyArray<AgentInfo>): string => {
  const primary = agents.filter(({ hidden, mode }) => !hidden && mode !== "subagent")
  const found = primary.find(({ name }) => name === defaults.default_agent)
    ?? primary.find(({ mode, origin }) => mode === "primary" && origin !== "built in")
    ?? primary.find(({ mode }) => mode === "primary")
    ?? primary[0]
  return found?.name ?? defaults.default_agent
}

const isOtherThanDefault = (origins: Readonly<Record<string, string>>): boolean =>
  (origins["default_agent"] ?? "default") !== "default"

/** Whether it is in a file of Skein; code and other tools may have tools that Skein does not know. */
const isMistake = ({ file }: ConfigIssue): boolean => /\.(?:jsonc?|md)$/.test(file) && !isForeignFile(file)

/** The misspelt keys of rules, as mistakes of Skein's own files and as remarks on others. */
export const misspelt = (settings: ConfigInfo, origins: Readonly<Record<string, string>>) => {
  const issues = misspeltKeys(settings).map(({ key, meant, path }): ConfigIssue => ({
    ...place(originOf(origins, path)),
    key: path,
    message: `${path}: Skein has no permission or tool ${JSON.stringify(key)}; did you mean "${meant}"?`
  }))
  const [warnings, mistakes] = Arr.partition(issues, isMistake)
  return { warnings, mistakes }
}

/** The agents of the config over the built-in ones. */
export const layer: Layer.Layer<Agent, ConfigError, Config> = Layer.unwrapEffect(
  Effect.flatMap(
    Config,
    ({ origins, settings }) =>
      Effect.map(
        agentsFrom(settings, builtins, origins),
        ({ agents, broken, permission }) => Agent.layer(agents, permission, broken)
      )
  )
)

/** Keys that an agent has as the config has them. */
const taken = [
  "description",
  "variant",
  "temperature",
  "topP",
  "prompt",
  "steps",
  "timeout",
  "maxRetries",
  "budget",
  "isolation",
  "output",
  "color"
]

const fields = (config: AgentConfig): Partial<AgentInfo> => ({
  ...Object.fromEntries(Object.entries(config).filter(([key, value]) => taken.includes(key) && value !== undefined)),
  ...(config.prompt_mode === undefined ? {} : { promptMode: config.prompt_mode })
})

const toModels = (model: string | ReadonlyArray<string>, bad: (text: string) => void): ReadonlyArray<ModelRef> =>
  (typeof model === "string" ? [model] : model).flatMap((text) => {
    const ref = parseRef(text)
    if (ref === undefined) bad(text)
    return ref === undefined ? [] : [ref]
  })

/** Tools with the permission of another tool: that permission grants all of them. */
const families = lookup<ReadonlyArray<string>>({
  edit: ["write", "patch"],
  task: ["task_status", "task_message", "task_stop", "task_wait"]
})

/** Permissions that are not tools: a list of tools does not affect them. */
const toolless = ["external_directory", "doom_loop", "task_model", "task_agent"]

/** The rules in an agent's config, `said` among them; `before` are the rules without it, which a list of tools falls back to. */
const ownRules = (config: AgentConfig, said: Ruleset, before: Ruleset): Ruleset => {
  const listed = [
    ...(config.allowedTools === undefined ? [] : only(config.allowedTools, before)),
    ...(config.allowAgents === undefined ? [] : onlyAgents(config.allowAgents, before)),
    ...(config.deniedTools ?? []).map((tool) => ({ permission: tool, pattern: "*", action: "deny" as const }))
  ]
  return [...listed, ...narrow(listed, said)]
}

const only = (tools: ReadonlyArray<string>, before: Ruleset): Ruleset => {
  const keys = new Set(
    tools.map((tool) => Object.keys(families).find((key) => families[key]?.includes(tool) === true) ?? tool)
  )
  const members = [...keys].flatMap((key) => families[key] ?? [])
  // A catch-all is not a rule for a tool's name, and must not become one here.
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

const ceilingOf = (declared: Ruleset | undefined, builtin: AgentInfo | undefined): Pick<AgentInfo, "ceiling"> => {
  if (declared === undefined) return {}
  if (builtin === undefined) return { ceiling: declared }
  const base = builtin.ceiling ?? denials(builtin.permission)
  return { ceiling: [...base, ...narrow(base, declared)] }
}

const originOf = (origins: Readonly<Record<string, string>>, key: string): string =>
  origins[key] ?? Object.entries(origins).findLast(([path]) => path.startsWith(`${key}.`))?.[1] ?? "config"

const place = (origin: string): Pick<ConfigIssue, "file" | "line"> => {
  const [, file = origin, line] = /^(.*):(\d+)$/s.exec(origin) ?? []
  return line === undefined ? { file } : { file, line: Number(line) }
}

/** Why an agent cannot be the default one. */
const faultOfDefault = (
  name: string,
  agents: ReadonlyArray<AgentInfo>,
  configured: ReadonlyMap<string, AgentConfig>,
  origins: Readonly<Record<string, string>>
): string | undefined => {
  const chosen = (origins["default_agent"] ?? "default") !== "default"
  const agent = agents.find((each) => each.name === name)
  // If no config names it, another agent is used.
  if (!chosen) return undefined
  if (agent?.mode === "subagent") return `${name} is a subagent; the default agent must be primary, or of mode all`
  if (agent !== undefined) return undefined
  if (configured.get(name)?.disable === true) return `${name} is disabled; name another agent`
  const meant = nearest(name, agents.map((each) => each.name))
  return `there is no agent ${JSON.stringify(name)}${meant === undefined ? "" : `; did you mean "${meant}"?`}`
}
