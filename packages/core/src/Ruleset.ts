/** Decides what rules say about a call: wildcards, the last match in a set, the strictest over several sets. */
import type { Action, Rule, Ruleset } from "@skein/domain/Rule"
import { glob, globOf } from "./Wildcard.ts"

/**
 * Whether a wildcard matches a text. `*` is any run of characters, `/` and line breaks included; `?` is any one
 * character. A trailing ` *` also matches the text without it (`git log *` matches `git log`). Takes linear space and,
 * at worst, time proportional to both lengths multiplied.
 */
export const covers = (pattern: string, text: string): boolean =>
  glob(pattern, text) || (pattern.endsWith(" *") && glob(pattern.slice(0, -2), text))

const everyRule = (_rule: Rule): boolean => true

/** The pattern of every command that is known to only read. It covers no command by its text. */
export const readingCommands = "<reads>"

/** A rule, and whether it matches a pattern. */
interface Reader {
  readonly rule: Rule
  readonly covers: (text: string, spaced: string) => boolean
}

/** With a trailing ` *`, matching the text and a space is the same as matching with and without arguments. */
const readerOf = (rule: Rule): Reader => {
  const { pattern } = rule
  if (pattern === readingCommands) return { rule, covers: () => false }
  const covered = globOf(pattern)
  if (!pattern.endsWith(" *")) return { rule, covers: covered }
  const [beginning = ""] = pattern.slice(0, -2).split(/[*?]/, 1)
  return { rule, covers: (text, spaced) => text.startsWith(beginning) && covered(spaced) }
}

/**
 * Rule sets are immutable, and the same few are checked all the time. This caches the rules for a permission, last
 * first.
 */
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
 * The action of the last matching rule of a set, `undefined` if none matches. Skips rules that do not count. `reads`
 * marks the pattern as a command that is known to only read.
 */
export const evaluate = (
  rules: Ruleset,
  permission: string,
  pattern: string,
  counts: (rule: Rule) => boolean = everyRule,
  reads = false
): Action | undefined => deciding(rules, permission, pattern, counts, reads)?.action

/** The rule that decides: the last one that matches. */
export const deciding = (
  rules: Ruleset,
  permission: string,
  pattern: string,
  counts: (rule: Rule) => boolean = everyRule,
  reads = false
): Rule | undefined => {
  const spaced = `${pattern} `
  const covered = (reader: Reader) =>
    reader.covers(pattern, spaced) || (reads && reader.rule.pattern === readingCommands)
  return readersOf(rules, permission).find((reader) => covered(reader) && counts(reader.rule))?.rule
}

/** Whether a rule counts for a pattern that no wildcard may allow: rules that allow must name it in full. */
export const allowsInFull = ({ action, pattern }: Rule): boolean => action !== "allow" || !/[*?]/.test(pattern)

/** Whether a rule spells out how a command begins, so that its wildcard stands only for what follows. */
export const namesBeginning = ({ pattern }: Rule, beginning: string): boolean => {
  const [named = ""] = pattern.split(/[*?]/, 1)
  if (named === beginning || named.startsWith(`${beginning} `)) return true
  // A rule may name the directory of what is run.
  const rest = beginning.slice(named.length)
  return named.endsWith("/") && named.includes(" ") && beginning.startsWith(named) && !/\.\.|\s/.test(rest)
}

/** Whether a rule is for all calls of a command's program: its name and a wildcard. */
export const namesProgram = ({ pattern }: Rule, command: string): boolean =>
  /^[^\s*?]+ ?\*$/.test(pattern) && pattern.replace(/ ?\*$/, "") === command.split(" ", 1)[0]

/** Whether a rule is specific, and not a catch-all. */
export const isNarrow = ({ pattern }: Rule): boolean => !/^\*+$/.test(pattern)

/** What a rule set says of changing a path where it denies that, or names it: a catch-all that asks does not count. */
export const editingBy = (rules: Ruleset, path: string): Action => {
  const rule = deciding(rules, "edit", path)
  return rule === undefined || (rule.action === "ask" && !isNarrow(rule)) ? "allow" : rule.action
}

const strictness: Record<Action, number> = { allow: 0, ask: 1, deny: 2 }

/** The stricter of two actions: `deny` over `ask` over `allow`. */
export const stricter = (a: Action, b: Action): Action => (strictness[a] >= strictness[b] ? a : b)

/** Whether every pattern of a permission is denied, so that no call can ever be permitted. */
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
 * The ceiling of an agent that declares none: what its definition denies stays denied. Exceptions from a denial stay
 * exceptions, so `{ "*": "deny", "read": "allow" }` denies everything but reading.
 */
export const denials = (rules: Ruleset): Ruleset =>
  rules.some((rule) => rule.action === "deny")
    ? rules.map((rule) => rule.action === "deny" ? rule : { ...rule, action: "allow" })
    : []

/** Expands a leading `~/` or `$HOME` of each pattern to the home directory. */
export const expandHome = (rules: Ruleset, home: string): Ruleset =>
  rules.map((rule) => {
    const rest = /^(?:~|\$HOME)(?=\/|$)(.*)$/s.exec(rule.pattern)
    return rest === null ? rule : { ...rule, pattern: home + (rest[1] ?? "") }
  })
