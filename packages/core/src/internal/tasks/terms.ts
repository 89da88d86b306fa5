/** Decides what bounds a run until its end, from the config and the caller at its request. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { RunTerms } from "@skein/domain/Outcome"
import type { Ruleset } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { Agent } from "../../Agent.ts"
import { subjectOf } from "../calls/offer.ts"
import { noTerms } from "../live/Assignment.ts"
import { lineOf, type Live } from "../live/Live.ts"

const denies = (rules: Ruleset): boolean => rules.some(({ action }) => action === "deny")

/** Whether two sets hold the same rules: a restart reads the same config into other objects. */
const isSame = (one: Ruleset, other: Ruleset): boolean =>
  one === other || (one.length === other.length && one.every(({ action, pattern, permission }, at) => {
    const rule = other[at]
    return rule?.action === action && rule.pattern === pattern && rule.permission === permission
  }))

/**
 * The terms of a run of this agent that is requested now. The ceilings above are also checked live, at every call: the
 * terms keep what they deny now.
 *
 * The agent's own rules bound the run itself, and not what it starts: a coordinator's workers edit. The rules for all
 * agents are part of them, where a definition may lift them. Once the config has changed, those of the caller's time
 * bound everything that it still starts, without exception.
 */
export const termsFor = Effect.fnUntraced(function*(caller: Live, agent: AgentInfo) {
  const agents = yield* Agent
  const above = yield* subjectOf(caller)
  const changed = new Set(
    lineOf(caller).flatMap(({ assignment }) => assignment.terms.shared).filter((rules) => !isSame(rules, agents.shared))
  )
  const terms: RunTerms = {
    ceilings: [...new Set([...above.ceilings, agents.ceiling(agent)])].filter((rules) => rules.length > 0),
    rules: [agents.rules(agent), ...changed].filter(denies),
    shared: [agents.shared, ...changed].filter(denies)
  }
  return terms.ceilings.length + terms.rules.length + terms.shared.length === 0 ? noTerms : terms
})
