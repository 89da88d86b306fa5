/** Decides what the rules say of a call, before anybody is asked: of the agent, and of every ceiling above it. */
import type { Action, Ruleset } from "@skein/domain/Rule"
import type { Caller, Subject } from "../Permission.ts"
import { covers, deniesAll, evaluate, stricter } from "../Ruleset.ts"
import type { PermissionAsk } from "../Tool.ts"

const readOnlyTree = (subject: Subject): boolean =>
  subject.ceilings.some((ceiling) => evaluate(ceiling, "edit", "*") === "deny")

/**
 * What one set of rules says of one pattern. A tool goes by its permission key; its name counts too, where a rule names
 * it: a catch-all speaks for the key alone.
 */
const verdict = (rules: Ruleset, { name, permission }: Caller, pattern: string): Action | undefined => {
  const byKey = evaluate(rules, permission, pattern)
  if (name === permission || !names(rules, name)) return byKey
  const byName = evaluate(rules, name, pattern)
  return byKey === undefined || byName === undefined ? byKey ?? byName : stricter(byKey, byName)
}

const names = (rules: Ruleset, tool: string): boolean =>
  rules.some((rule) => rule.permission !== "*" && covers(rule.permission, tool))

/** What agent and ceilings say of one pattern, before any approval. */
export const byRules = (subject: Subject, tool: Caller, ask: PermissionAsk, pattern: string): Action => {
  // What a call needs besides its own permission, such as to leave the directory, is no matter of the tool's name.
  const caller = ask.permission === tool.permission ? tool : { name: ask.permission, permission: ask.permission }
  const action = subject.ceilings.reduce<Action>(
    (strictest, ceiling) => stricter(strictest, verdict(ceiling, caller, pattern) ?? "allow"),
    verdict(subject.rules, caller, pattern) ?? "ask"
  )
  // Without a sandbox a shell cannot be kept from writing: where edits are denied above, only what is allowed as it stands runs.
  if (ask.permission === "bash" && action === "ask" && readOnlyTree(subject)) return "deny"
  return action
}

/** Keeps what was made of a set of rules: sets do not change, and the same few are asked about at every step. */
export const remembered = <A>(make: (rules: Ruleset) => A): (rules: Ruleset) => A => {
  const known = new WeakMap<Ruleset, A>()
  return (rules) => {
    const found = known.get(rules)
    if (found !== undefined) return found
    const made = make(rules)
    known.set(rules, made)
    return made
  }
}

const deniedTools = remembered((_rules) => new Map<string, boolean>())

const nothingOf = (rules: Ruleset, { name, permission }: Caller): boolean => {
  const known = deniedTools(rules)
  const key = `${name} ${permission}`
  const found = known.get(key) ?? (deniesAll(rules, permission) || (names(rules, name) && deniesAll(rules, name)))
  known.set(key, found)
  return found
}

/** Whether anything at all of a tool may ever be allowed. */
export const isOffered = (subject: Subject, tool: Caller): boolean =>
  !nothingOf(subject.rules, tool) && !subject.ceilings.some((ceiling) => nothingOf(ceiling, tool))
