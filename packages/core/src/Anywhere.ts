/**
 * Decides which trees need no directory: those whose agents may neither touch files nor run commands. Such a tree can be
 * worked in on any host.
 */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { Ruleset } from "@skein/domain/Rule"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { Agent } from "./Agent.ts"
import { Hooks } from "./Hooks.ts"
import { Instructions } from "./Instructions.ts"
import { deniesAll } from "./Ruleset.ts"

/** The permissions that touch no file and run no command. */
export const harmless: ReadonlySet<string> = new Set([
  "task",
  "task_status",
  "task_message",
  "task_stop",
  "task_wait",
  "task_model",
  "task_agent",
  "todowrite",
  "todoread",
  "question",
  "webfetch",
  // These two are asked for together with another permission, and allow nothing without it.
  "doom_loop",
  "external_directory"
])

/** The ceiling of a tree that needs no directory: it allows those permissions alone. */
export const ceiling: Ruleset = [
  { permission: "*", pattern: "*", action: "deny" },
  ...[...harmless].map((permission) => ({ permission, pattern: "*", action: "allow" as const }))
]

/** Whether rules deny everything, and then except nothing but harmless permissions. */
const isHarmless = (rules: Ruleset): boolean => {
  const at = rules.findLastIndex(({ action, pattern, permission }) =>
    action === "deny" && permission === "*" && /^\*+$/.test(pattern)
  )
  return at >= 0 && rules.slice(at + 1).every(({ action, permission }) => action === "deny" || harmless.has(permission))
}

/**
 * Whether an agent, and all that it may start, touch no file and run no command. `own` are the rules of its session, which
 * nothing below it can exceed.
 */
export const isFree = (agents: Context.Tag.Service<Agent>, agent: AgentInfo, own: Ruleset): boolean => {
  const ceilings = [own, agents.ceiling(agent)]
  if (ceilings.some(isHarmless)) return true
  const rules = agents.rules(agent)
  return isHarmless(rules) && [rules, ...ceilings].some((each) => deniesAll(each, "task"))
}

/**
 * Whether a tree needs no directory if this agent works at its root. That holds only in a project without files that
 * configure or instruct agents, and without hooks: they would be missing elsewhere.
 */
export const needsNoDirectory = Effect.fnUntraced(function*(
  name: string,
  { directory, permission }: Pick<SessionInfo, "directory" | "permission">
) {
  const agents = yield* Agent
  const hooks = yield* Hooks
  const agent = Either.getOrUndefined(agents.get(name))
  if (agent === undefined || !hooks.isEmpty || !isFree(agents, agent, permission)) return false
  return yield* (yield* Instructions).isBare(directory)
})
