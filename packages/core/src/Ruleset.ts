/** Decides what rules say of a call: wildcards, the last match in a set, the strictest over several sets. */
import type { Action, Rule, Ruleset } from "@skein/domain/Rule"
import { glob, globOf } from "./Wildcard.ts"

/**
 * Whether a wildcard covers a text: `*` is any run of characters, `/` and line breaks included, `?` is any one character,
 * and a trailing ` *` also covers the text without it (`git log *` covers `git log`). Takes linear space and, at worst,
 * time proportional to both lengths multiplied.
 */
export const covers = (pattern: string, text: string): boolean =>
  glob(pattern, text) || (pattern.endsWith(" *") && glob(pattern.slice(0, -2), text))

const everyRule = (_rule: Rule): boolean => true

/** A rule, and whether it covers a pattern. */
interface Reader {
  readonly rule: Rule
  readonly covers: (text: string, spaced: string) => boolean
}

/** A trailing ` *` covers with a space behind the text just what it covers with and without arguments. */
const readerOf = (rule: Rule): Reader => {
  const { pattern } = rule
  const covered = globOf(pattern)
  if (!pattern.endsWith(" *")) return { rule, covers: covered }
  const [beginning = ""] = pattern.slice(0, -2).split(/[*?]/, 1)
  return { rule, covers: (text, spaced) => text.startsWith(beginning) && covered(spaced) }
}

/** Sets of rules do not change, and the same few are asked about all the time: those that speak of a permission, last first. */
const readers = new WeakMap<Ruleset, Map<string, ReadonlyArray<Reader>>>()

const readersOf = (rules: Ruleset, permission: string): ReadonlyArray<Reader> => {
  const known = readers.get(rules) ?? new Map<string, ReadonlyArray<Reader>>()
  const found = known.get(permission) ??
    rules.filter((rule) => covers(rule.permission, permission)).map(readerOf).toReversed()
  known.set(permission, found)
  readers.set(rules, known)
  return found
}

/**
 * What a set of rules says: the action of the last rule that matches, `undefined` where none does. Rules that do not count
 * are passed over.
 */
export const evaluate = (
  rules: Ruleset,
  permission: string,
  pattern: string,
  counts: (rule: Rule) => boolean = everyRule
): Action | undefined => {
  const spaced = `${pattern} `
  return readersOf(rules, permission).find((reader) => reader.covers(pattern, spaced) && counts(reader.rule))?.rule
    .action
}

/** Whether a rule counts for what no wildcard may allow: those that allow have to name it in full. */
export const allowsInFull = ({ action, pattern }: Rule): boolean => action !== "allow" || !/[*?]/.test(pattern)

/** Whether a rule speaks of something, and not of everything. */
export const isNarrow = ({ pattern }: Rule): boolean => !/^\*+$/.test(pattern)

const strictness: Record<Action, number> = { allow: 0, ask: 1, deny: 2 }

/** The stricter of two actions: `deny` over `ask` over `allow`. */
export const stricter = (a: Action, b: Action): Action => (strictness[a] >= strictness[b] ? a : b)

/** Whether every pattern of a permission is denied, so that nothing of it can ever be allowed. */
export const deniesAll = (rules: Ruleset, permission: string): boolean => {
  let denied = false
  for (const rule of rules) {
    if (!covers(rule.permission, permission)) continue
    if (rule.action !== "deny") denied = false
    else if (/^\*+$/.test(rule.pattern)) denied = true
  }
  return denied
}

/**
 * What an agent hands down where it declares no ceiling: what its definition denies stays denied. What the definition
 * takes out of a denial stays out of it, so `{ "*": "deny", "read": "allow" }` denies everything but reading.
 */
export const denials = (rules: Ruleset): Ruleset =>
  rules.some((rule) => rule.action === "deny")
    ? rules.map((rule) => rule.action === "deny" ? rule : { ...rule, action: "allow" })
    : []

/** Puts a home directory in the place of a leading `~/` or `$HOME` of each pattern. */
export const expandHome = (rules: Ruleset, home: string): Ruleset =>
  rules.map((rule) => {
    const rest = /^(?:~|\$HOME)(?=\/|$)(.*)$/s.exec(rule.pattern)
    return rest === null ? rule : { ...rule, pattern: home + (rest[1] ?? "") }
  })
