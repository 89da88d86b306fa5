/**
 * Decides what the rules say about a call before anybody is asked: those of the agent, and of every ceiling above it.
 */
import type { Action, Rule, Ruleset } from "@skein/domain/Rule"
import { defaultRules, readOnlyBash } from "../../Agent.ts"
import {
  allowsInFull,
  type Caller,
  covers,
  deciding,
  deniesAll,
  editingBy,
  evaluate,
  isNarrow,
  isOfPaths,
  namesBeginning,
  namesProgram,
  onlyName,
  type PathNames,
  stricter,
  type Subject
} from "../../Ruleset.ts"
import type { PermissionAsk } from "../../Tool.ts"

/** Whether no call here may change files, not even through a command. */
export const readsOnly = (subject: Subject): boolean =>
  subject.ceilings.some((ceiling) => evaluate(ceiling, "edit", "*") === "deny")

/**
 * What one rule set says about one pattern. The tool's permission key decides. Rules that name the tool apply too; a
 * catch-all applies to the key alone.
 */
const verdict = (
  rules: Ruleset,
  { name, permission }: Caller,
  what: string | PathNames,
  counts?: (rule: Rule) => boolean,
  reads = false
): Action | undefined => {
  const byKey = evaluate(rules, permission, what, counts, reads)
  if (name === permission || !names(rules, name)) return byKey
  const byName = evaluate(rules, name, what, counts, reads)
  return byKey === undefined || byName === undefined ? byKey ?? byName : stricter(byKey, byName)
}

const names = (rules: Ruleset, tool: string): boolean =>
  rules.some((rule) => rule.permission !== "*" && covers(rule.permission, tool))

/** Whether rules of the time when its run was requested deny a call. */
const wasDenied = ({ earlier }: Subject, of: (rules: Ruleset) => Action | undefined): boolean =>
  earlier !== undefined && earlier.some((rules) => of(rules) === "deny")

const strictest = (subject: Subject, of: (rules: Ruleset) => Action | undefined, otherwise: Action): Action =>
  wasDenied(subject, of) ? "deny" : subject.ceilings.reduce<Action>(
    (action, ceiling) => stricter(action, of(ceiling) ?? "allow"),
    of(subject.rules) ?? otherwise
  )

/** What a rule set says of the alias of a permission, by a rule that does not match the permission itself. */
const byAlias = (rules: Ruleset, { alias, permission }: PermissionAsk, what: string | PathNames): Action => {
  const rule = alias === undefined ? undefined : deciding(rules, alias, what)
  return rule === undefined || covers(rule.permission, permission) ? "allow" : rule.action
}

/** What rules compare: of a path all its names. */
const comparedBy = ({ namesOf = onlyName }: Subject, permission: string, pattern: string): string | PathNames =>
  isOfPaths(permission) ? namesOf(pattern) : pattern

/** The tool's name does not matter for further permissions of a call, such as leaving the directory. */
const callerOf = (tool: Caller, { permission }: PermissionAsk): Caller =>
  permission === tool.permission ? tool : { name: permission, permission }

/** Whether a rule counts for credentials: a catch-all does not include them. */
const namesCredentials = ({ action, permission }: Rule): boolean =>
  action !== "allow" || permission === "bash_credentials"

/** Which rules count for a pattern of this call; all if `undefined`. */
export const countsFor = ({ beginnings = {}, exact, ordinary = [], patterns, permission }: PermissionAsk) => {
  const inFull = new Set(exact ?? (permission === "bash" ? patterns : []))
  const named = permission === "bash_credentials" ? namesCredentials : undefined
  return (pattern: string): ((rule: Rule) => boolean) | undefined => {
    if (!inFull.has(pattern)) return named
    if (named !== undefined) return (rule) => named(rule) && allowsInFull(rule)
    const beginning = beginnings[pattern]
    return beginning === undefined
      ? allowsInFull
      : (rule) =>
        allowsInFull(rule) || namesBeginning(rule, beginning) ||
        (ordinary.includes(pattern) && namesProgram(rule, pattern))
  }
}

/** Whether a call must be known to only read: without a sandbox nothing keeps a shell from writing. */
export const mustRead = (subject: Subject, ask: PermissionAsk): boolean =>
  ask.permission === "bash" && ask.confined !== true && readsOnly(subject)

/** What agent and ceilings say about each pattern, before any approval. */
export const byRules = (subject: Subject, tool: Caller, ask: PermissionAsk): ReadonlyArray<Action> => {
  const caller = callerOf(tool, ask)
  const counts = countsFor(ask)
  const onlyReads = mustRead(subject, ask)
  const reading = new Set(ask.reads)
  return ask.patterns.map((pattern) => {
    const counting = counts(pattern)
    const isReading = reading.has(pattern)
    const what = comparedBy(subject, ask.permission, pattern)
    const byKey = strictest(subject, (rules) => verdict(rules, caller, what, counting, isReading), "ask")
    const action = stricter(byKey, strictest(subject, (rules) => byAlias(rules, ask, what), "allow"))
    const met = ask.unclear === true ? stricter(action, "ask") : action
    const isKnown = () => evaluate(readOnlyBash, "bash", pattern, counting, isReading) === "allow"
    return !onlyReads || (met === "allow" && isKnown()) ? met : "deny"
  })
}

/** What the rules say of reading a path, without approvals. */
export const readingOf = (subject: Subject) => (path: string): Action => {
  const what = comparedBy(subject, "read", path)
  return strictest(subject, (rules) => evaluate(rules, "read", what), "ask")
}

/** What rules that deny edits, or ask for some of them, say of changing a path. */
export const editingOf = (subject: Subject) => (path: string): Action => {
  const what = comparedBy(subject, "edit", path)
  return strictest(subject, (rules) => editingBy(rules, what), "allow")
}

/** Whether any rule denies some of a permission. */
export const deniesSome = ({ ceilings, earlier = [], rules }: Subject) => (permission: string): boolean =>
  [rules, ...ceilings, ...earlier].some((all) =>
    all.some((rule) => rule.action === "deny" && covers(rule.permission, permission))
  )

/** Which rules would allow what a question asks for, where not just any rule does. */
export const wouldAllow = (subject: Subject, ask: PermissionAsk): ReadonlyArray<string> => {
  if (!ask.permission.startsWith("bash")) return []
  if (ask.unclear === true) return ["No rule can allow this line as it is written."]
  const counts = countsFor(ask)
  return ask.patterns.flatMap((pattern) => {
    const counting = counts(pattern)
    if (counting === undefined || evaluate(subject.rules, ask.permission, pattern, counting) === "allow") return []
    const beginning = ask.beginnings?.[pattern]
    const own = ask.ordinary?.includes(pattern) === true ? ` "${pattern.split(" ", 1).join("")} *", or one` : ""
    const needed = beginning === undefined ? "names it in full" : `begins with "${beginning}"`
    const rule = deciding(subject.rules, ask.permission, pattern)
    return rule?.action === "allow"
      ? [`The rule "${rule.pattern}" does not allow this: that takes a rule${own} that ${needed}.`]
      : [`To allow it, you need a rule${own} that ${needed}.`]
  })
}

const defaults: ReadonlySet<Rule> = new Set(defaultRules)

/** Whether a rule is one of those that hold for every agent, and nobody wrote. */
export const isDefault = (rule: Rule): boolean => defaults.has(rule)

/** The rules that decide on a pattern for an agent: by the permission, and by the name of the tool where a rule says it. */
const decidingOf = (
  rules: Ruleset,
  { name, permission }: Caller,
  what: string | PathNames,
  counts: ((rule: Rule) => boolean) | undefined,
  reads: boolean
): ReadonlyArray<Rule> => {
  const keys = name === permission || !names(rules, name) ? [permission] : [permission, name]
  return keys.flatMap((key) => deciding(rules, key, what, counts, reads) ?? [])
}

/** At most this many rules of a decision are shown and stored. */
const mostShown = 8

/** The rules that decided so on a call, of the agent and of all above it; none if nobody wrote one. */
export const decidingRules = (subject: Subject, tool: Caller, ask: PermissionAsk, action: Action): Ruleset => {
  const { ceilings, earlier = [], rules } = subject
  const caller = callerOf(tool, ask)
  const counts = countsFor(ask)
  // Ceilings only restrict.
  const sets = action === "allow" ? [rules] : [rules, ...ceilings, ...action === "deny" ? earlier : []]
  const found = [...ask.patterns, ...action === "allow" ? [] : ask.also ?? []].flatMap((pattern, at) => {
    const isOther = at >= ask.patterns.length
    const what = comparedBy(subject, ask.permission, pattern)
    const reads = ask.reads?.includes(pattern) === true
    return sets.flatMap((set) => decidingOf(set, caller, what, isOther ? isNarrow : counts(pattern), reads))
  })
  const isForEdits = action === "deny" &&
    (ask.permission === "bash_write" || mustRead(subject, ask) || isClosedTo(subject, tool))
  const all = [...found, ...isForEdits ? ceilings.flatMap((set) => deciding(set, "edit", "*") ?? []) : []]
  const written = all.filter((rule) => rule.action === action && !isDefault(rule))
  return [...new Map(written.map((rule) => [JSON.stringify(rule), rule])).values()].slice(0, mostShown)
}

/** Whether it is the rule of the mode `plan`. */
export const isOfPlan = ({ mode }: Subject, { action, origin, pattern, permission }: Rule): boolean =>
  mode === "plan" && origin === undefined && permission === "edit" && pattern === "*" && action === "deny"

/** Whether only such rules of the agent ask for a call, and no ceiling does. */
export const asksOnlyBy = (
  subject: Subject,
  tool: Caller,
  ask: PermissionAsk,
  isWeak: (rule: Rule) => boolean
): boolean => {
  const caller = callerOf(tool, ask)
  const counts = countsFor(ask)
  return ask.patterns.every((pattern) => {
    const counting = counts(pattern)
    const reads = ask.reads?.includes(pattern) === true
    const what = comparedBy(subject, ask.permission, pattern)
    return decidingOf(subject.rules, caller, what, counting, reads).every((rule) =>
      rule.action === "allow" || (rule.action === "ask" && isWeak(rule))
    ) && subject.ceilings.every((ceiling) => (verdict(ceiling, caller, what, counting, reads) ?? "allow") === "allow")
  })
}

/** Whether any rule that somebody wrote asks for commands or denies them. */
export const restrictsBash = (subject: Subject): boolean =>
  [subject.rules, ...subject.ceilings].some((rules) =>
    rules.some((rule) => rule.action !== "allow" && !isDefault(rule) && covers(rule.permission, "bash"))
  ) || deniesBash(subject)

/** Whether any rule denies commands: then a line that is not all known may be one of them. */
const deniesBash = ({ ceilings, earlier = [], rules }: Subject): boolean =>
  [rules, ...ceilings, ...earlier].some((each) =>
    each.some(({ action, permission }) => action === "deny" && covers(permission, "bash"))
  )

/** Whether any rule denies some files to `read`, and no later rule of its set allows all of them. */
const deniesReading = ({ ceilings, earlier = [], rules }: Subject): boolean =>
  [rules, ...ceilings, ...earlier].some((each) => {
    const counting = each.filter(({ permission }) => covers(permission, "read"))
    return counting.some(({ action }, at) =>
      action === "deny" && !counting.slice(at).some((later) => later.action !== "deny" && !isNarrow(later))
    )
  })

/** The program of a pattern. */
export const programOf = (pattern: string): string => pattern.split(" ", 1).join("")

/**
 * Whether a command may be one that a rule denies, or read a file that one denies: its line is not all known, or it runs
 * what it does not show, and no rule that means it allows that. Files of the project are not shown either, but in the sandbox they do no harm. Mode `auto`
 * must not run it, and in other modes a rule for all commands does not allow it.
 */
export const mayBeDenied = (subject: Subject, tool: Caller, ask: PermissionAsk): boolean => {
  const isOpen = ask.permission === "bash" && ask.confined !== true && (ask.opens === true || ask.unclear === true)
  if (isOpen && deniesReading(subject)) return true
  if (!deniesBash(subject)) return false
  if (ask.unclear === true) return true
  if (ask.permission !== "bash") return false
  const { confined = false, exact = [], runs = [], runsProject = [] } = ask
  const isLacking = (more: Partial<PermissionAsk>) =>
    byRules(subject, tool, { ...ask, ...more }).some((each) => each !== "allow")
  if (isLacking({ patterns: runs, exact: [...exact, ...runs] })) return true
  const beginnings = Object.fromEntries(runsProject.map((pattern) => [pattern, programOf(pattern)]))
  return !confined && isLacking({ patterns: runsProject, exact: runsProject, beginnings })
}

/** What rules say of the other ways to say the same. A rule that asks for the command itself has been heard. */
export const byOtherWords = (subject: Subject, tool: Caller, ask: PermissionAsk): Action => {
  const caller = callerOf(tool, ask)
  const counts = (rule: Rule) =>
    isNarrow(rule) && (rule.action !== "ask" || !ask.patterns.some((pattern) => covers(rule.pattern, pattern)))
  return (ask.also ?? []).reduce<Action>(
    (action, words) => stricter(action, strictest(subject, (rules) => verdict(rules, caller, words, counts), "allow")),
    "allow"
  )
}

/** What sets deny of tools: sets are immutable, and the same few are checked at every step. */
const deniedTools = new WeakMap<Ruleset, WeakMap<Caller, boolean>>()

const nothingOf = (rules: Ruleset, tool: Caller): boolean => {
  const known = deniedTools.get(rules) ?? new WeakMap<Caller, boolean>()
  const found = known.get(tool)
  if (found !== undefined) return found
  const { name, permission } = tool
  const made = deniesAll(rules, permission) || (names(rules, name) && deniesAll(rules, name))
  deniedTools.set(rules, known.set(tool, made))
  return made
}

/** Whether Skein cannot tell what a tool changes, and edits are denied. */
export const isClosedTo = (subject: Subject, tool: Caller): boolean => tool.opaque === true && readsOnly(subject)

/** Whether any call of a tool may ever be permitted. */
export const isOffered = (subject: Subject, tool: Caller): boolean => {
  const isDenied = (rules: Ruleset) => nothingOf(rules, tool)
  const { ceilings, earlier = [], rules } = subject
  return !isClosedTo(subject, tool) && !isDenied(rules) && !ceilings.some(isDenied) && !earlier.some(isDenied)
}
