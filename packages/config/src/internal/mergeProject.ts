/**
 * Merges the files of a project, so that no file of another tool lifts a restriction of an earlier one: compares
 * wildcards, and lays rules over others without lifting their denials.
 */
import { isAbsolute, readingsOf, walk } from "@skein/core/Ruleset"
import type { Rule } from "@skein/domain/Rule"
import {
  merge,
  record,
  type Sourced,
  type SourcedLeaf,
  type SourcedRecord,
  type SourcedRule,
  valueAt
} from "./sourced.ts"

// A trailing ` *` also matches the text without it.
const forms = (pattern: string): ReadonlyArray<string> =>
  pattern.endsWith(" *") ? [pattern, pattern.slice(0, -2)] : [pattern]

/**
 * Whether `wide` matches everything that `narrow` matches. May return false for true (`*?` and `?*`), but never the
 * reverse.
 */
export const coversAll = (wide: string, narrow: string): boolean =>
  forms(narrow).every((form) => forms(wide).some((pattern) => glob(pattern, form)))

// Like matching a text, except that a wildcard of the narrower pattern is only covered by one that is as wide.
const glob = (wide: string, narrow: string): boolean =>
  walk(wide, narrow, "*", (sign: string, other) => sign === other || (sign === "?" && other !== "*"))

const isRooted = (pattern: string): boolean => isAbsolute(pattern) || /^(?:~|\$HOME|\$\{HOME\})(?=\/|$)/.test(pattern)

// Neither the home directory nor the project's is known here, so any may be meant.
const anywhere = (pattern: string): string => pattern.replace(/^(?:~|\$HOME|\$\{HOME\})(?=\/|$)/, "*")

/** The patterns for comparison with another one: a path in the project may also be written from the root. */
const comparable = (pattern: string, other: string): ReadonlyArray<string> =>
  readingsOf(pattern).flatMap(forms).flatMap((each) =>
    isRooted(other) && !isRooted(each) ? [each, `*/${each}`] : [anywhere(each)]
  )

/** Whether some text matches both. */
export const overlaps = (a: string, b: string): boolean =>
  comparable(a, b).some((left) => comparable(b, a).some((right) => meet(left, right)))

// Both sides have runs here, so `walk`, which extends the last run of one side only, cannot decide.
const meet = (a: string, b: string): boolean => {
  // reach[j]: whether the rest of `a` from i and the rest of `b` from j can match one text.
  let below: ReadonlyArray<boolean> = []
  for (let i = a.length; i >= 0; i--) {
    const reach: Array<boolean> = Array.from({ length: b.length + 1 }, () => false)
    for (let j = b.length; j >= 0; j--) {
      const x = a[i]
      const y = b[j]
      reach[j] = x === undefined && y === undefined
        || (x === "*" && (below[j] === true || (y !== undefined && reach[j + 1] === true)))
        || (y === "*" && (reach[j + 1] === true || (x !== undefined && below[j] === true)))
        || (x !== undefined && y !== undefined && (x === y || x === "?" || y === "?") && below[j + 1] === true)
    }
    below = reach
  }
  return below[0] === true
}

interface Region {
  readonly permission: string
  readonly pattern: string
}

const both = (a: string, b: string): string | undefined => coversAll(a, b) ? b : coversAll(b, a) ? a : undefined

const apart = (a: Region, b: Region): boolean =>
  !overlaps(a.permission, b.permission) || !overlaps(a.pattern, b.pattern)

const intersection = (a: Region, b: Region): Region | undefined => {
  const permission = both(a.permission, b.permission)
  const pattern = both(a.pattern, b.pattern)
  return permission === undefined || pattern === undefined ? undefined : { permission, pattern }
}

const same = (a: Region, b: Region): boolean => a.permission === b.permission && a.pattern === b.pattern

const strictness = { allow: 0, ask: 1, deny: 2 } as const

type AnyRule = Omit<Rule, "origin">

/**
 * The rules to append to `base`, so that its denials stay, and the rest is as if `over` had been appended. Only a last
 * match can lift a denial, so each rule that would do so is followed by the denials of `base`, cut down to what that
 * rule covers, and by their exceptions. If no wildcard expresses the intersection of two wildcards, the result is
 * stricter, never more permissive.
 */
export const narrow = <R extends AnyRule>(base: ReadonlyArray<R>, over: ReadonlyArray<R>): ReadonlyArray<R> =>
  over.flatMap((rule) => rule.action === "deny" ? [rule] : confine(base, rule, ({ action }) => action === "deny"))

/** The rules to append to `base`, as `narrow` returns them, so that its questions are not lifted either. */
export const tighten = <R extends AnyRule>(base: ReadonlyArray<R>, over: ReadonlyArray<R>): ReadonlyArray<R> =>
  over.flatMap((rule) => {
    const isStricter = ({ action }: AnyRule) => strictness[action] > strictness[rule.action]
    // Such a question, repeated in full, would lift denials outside of what the rule covers.
    const isUncut = rule.action === "allow"
      && base.some((each) => each.action === "ask" && !apart(each, rule) && intersection(each, rule) === undefined)
    return isUncut ? narrow(base, [{ ...rule, action: "ask" }]) : confine(base, rule, isStricter)
  })

const confine = <R extends AnyRule>(
  base: ReadonlyArray<R>,
  rule: R,
  isStricter: (before: AnyRule) => boolean
): ReadonlyArray<R> => {
  let rules = [rule]
  let restricted = false
  for (const before of base) {
    const restricts = isStricter(before)
    if ((!restricts && !restricted) || apart(before, rule)) continue
    const region = intersection(before, rule)
    if (restricts) {
      restricted = true
      if (region === undefined) rules.push(before)
      else if (same(region, rule)) rules = [{ ...before, ...region }]
      else rules.push({ ...before, ...region })
    } else if (region !== undefined) {
      if (same(region, rule)) {
        rules = [rule]
        restricted = false
      } else rules.push({ ...rule, ...region })
    }
  }
  return rules
}

/**
 * The rules of `base` for one region: appended to a denial, they restore it there. Denials that no wildcard can cut
 * down to the region are restored in full.
 */
export const within = <R extends AnyRule>(
  base: ReadonlyArray<R>,
  permission: string,
  pattern: string = "*"
): ReadonlyArray<R> =>
  base.flatMap((rule) => {
    const region = intersection(rule, { permission, pattern })
    if (region !== undefined) return [{ ...rule, ...region }]
    return rule.action === "deny" && !apart(rule, { permission, pattern }) ? [rule] : []
  })

/**
 * The rules of `base` for one region, to append to rules that restrict it: no more permissive than `base` there, and
 * than those rules elsewhere. Undefined if no wildcards can express that.
 */
export const inside = <R extends AnyRule>(base: ReadonlyArray<R>, region: Region): ReadonlyArray<R> | undefined => {
  let found: ReadonlyArray<R> = []
  for (const rule of base) {
    if (apart(rule, region)) continue
    const part = intersection(rule, region)
    if (part === undefined && rule.action === "ask") return undefined
    if (part !== undefined) found = [...(same(part, region) ? [] : found), { ...rule, ...part }]
    else if (rule.action === "deny") found = [...found, rule]
  }
  return found
}

/** One source of a project's config. */
interface ProjectPart {
  readonly tree: SourcedRecord
  /** The other tool that it comes from; absent for Skein. */
  readonly layer?: "claude" | "opencode" | "agents"
}

/** Merges the parts; later ones override earlier ones. */
export const mergeProject = (parts: ReadonlyArray<ProjectPart>): SourcedRecord => {
  // In Claude Code these apply whatever an agent says.
  const always = parts.flatMap(({ layer, tree }) =>
    layer === "claude"
      ? (valueAt(tree, "rules", ["permission"])?.rules ?? []).filter(({ action }) => action !== "allow")
      : []
  )
  return parts.reduce(
    (under, { layer, tree }) =>
      layer === undefined ? merge(under, tree) : mergeForeign(under, withinAgents(tree, always)),
    record([], { name: "default" })
  )
}

/** Lays a file of another tool over earlier config: its values count, but it can only restrict. */
export const mergeForeign = (under: SourcedRecord, over: SourcedRecord): SourcedRecord => {
  const agents = valueAt(over, "record", ["agent"])
  const limited = agents === undefined ? over : put(
    over,
    "agent",
    record(
      [...agents.entries].map(([name, said]) => [name, limit(valueAt(under, "record", ["agent", name]), said)]),
      agents.origin
    )
  )
  return merge(under, tightened(under, limited))
}

/** The keys of a file that limit an agent. */
export const limitsOf = (agent: SourcedRecord): SourcedRecord =>
  record([...agent.entries].filter(([key]) => key === "permission" || key in lists), agent.origin)

/** The rules that another tool applies to all its agents override those of each agent. */
const withinAgents = (tree: SourcedRecord, always: ReadonlyArray<SourcedRule>): SourcedRecord => {
  const agents = valueAt(tree, "record", ["agent"])
  if (agents === undefined || always.length === 0) return tree
  const limited = [...agents.entries].map(([name, agent]) => {
    const rules = agent.kind === "record" ? agent.entries.get("permission") : undefined
    return agent.kind === "record" && rules?.kind === "rules"
      ? [name, put(agent, "permission", { kind: "rules", rules: tighten(always, rules.rules) })] as const
      : [name, agent] as const
  })
  return put(tree, "agent", record(limited, agents.origin))
}

const limit = (under: SourcedRecord | undefined, over: Sourced): Sourced => {
  if (under === undefined || over.kind !== "record") return over
  const entries = [...over.entries].map(([key, value]) => {
    const join = lists[key]
    const before = names(under.entries.get(key))
    const after = names(value)
    return join === undefined || before === undefined || after === undefined || value.kind !== "leaf"
      ? [key, value] as const
      : [key, { ...value, value: join(before, after) } satisfies SourcedLeaf] as const
  })
  return tightened(under, record(entries, over.origin))
}

const tightened = (under: SourcedRecord, over: SourcedRecord): SourcedRecord => {
  const before = valueAt(under, "rules", ["permission"])
  const after = valueAt(over, "rules", ["permission"])
  return before === undefined || after === undefined
    ? over
    : put(over, "permission", { kind: "rules", rules: tighten(before.rules, after.rules) })
}

const put = (tree: SourcedRecord, key: string, value: Sourced): SourcedRecord => ({
  ...tree,
  entries: new Map(tree.entries).set(key, value)
})

const names = (leaf: Sourced | undefined): ReadonlyArray<string> | undefined =>
  leaf?.kind === "leaf" && Array.isArray(leaf.value) ? leaf.value.map(String) : undefined

/** The names in both lists. */
export const common = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set([
    ...a.filter((name) => b.some((wide) => coversAll(wide, name))),
    ...b.filter((name) => a.some((wide) => coversAll(wide, name)))
  ])
]

const union = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set([...a, ...b])]

/** How to merge two lists that limit an agent. */
const lists: Readonly<Record<string, typeof common>> = { allowedTools: common, allowAgents: common, deniedTools: union }
