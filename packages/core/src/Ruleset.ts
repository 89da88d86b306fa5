/** Decides what rules say about a call, what wildcards match, and whose call a rule decides. */
import type { PartID } from "@skein/domain/Id"
import type { Mode } from "@skein/domain/Mode"
import type { Action, Rule, Ruleset } from "@skein/domain/Rule"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type * as Effect from "effect/Effect"
import type { EventSource } from "./Write.ts"

/**
 * Whether signs match items one by one. The sign `many` stands for any run of items, even an empty one; `fits` decides
 * for all other signs. Uses constant space, and calls `fits` at most `signs.length * items.length` times.
 */
export const walk = <Many, One, Item>(
  signs: ArrayLike<Many | One>,
  items: ArrayLike<Item>,
  many: Many,
  fits: (sign: One, item: Item) => boolean
): boolean => {
  let sign = 0
  let item = 0
  // Only the last run is ever extended: extending an earlier one could not match more signs.
  let afterRun = -1
  let runEnd = 0
  while (item < items.length) {
    if (sign < signs.length && signs[sign] === many) {
      afterRun = ++sign
      runEnd = item
      if (sign === signs.length) return true
    } else if (sign < signs.length && fits(signs[sign] as One, items[item] as Item)) {
      sign++
      item++
    } else if (afterRun >= 0) {
      sign = afterRun
      item = ++runEnd
    } else return false
  }
  while (signs[sign] === many) sign++
  return sign === signs.length
}

/** Whether a pattern matches a text: `*` is any run of characters, `?` is any one, both include `/` and line breaks. */
export const glob = (pattern: string, text: string): boolean =>
  walk(pattern, text, "*", (sign: string, character) => sign === "?" || sign === character)

/** Compiles one pattern for many texts: the beginning and end of a text nearly always decide. */
export const globOf = (pattern: string): (text: string) => boolean => {
  const [first = "", ...pieces] = pattern.split("*")
  if (pattern.includes("?")) {
    const beginning = first.split("?", 1).join("")
    return (text) => text.startsWith(beginning) && glob(pattern, text)
  }
  const last = pieces.pop()
  if (last === undefined) return (text) => text === pattern
  return (text) => {
    const end = text.length - last.length
    if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false
    let at = first.length
    for (const piece of pieces) {
      const found = text.indexOf(piece, at)
      if (found < 0) return false
      at = found + piece.length
    }
    return at <= end
  }
}

/** Whose call it is, and the rules that apply to it. */
export interface Subject {
  readonly session: EventSource & Pick<SessionInfo, "projectID" | "directory"> & Partial<Pick<SessionInfo, "worktree">>
  /** The names of a path of its calls; that path alone if absent. */
  readonly namesOf?: (path: string) => PathNames
  /** The names of the agents from the root to the caller. */
  readonly path: ReadonlyArray<string>
  /** The mode of the tree. */
  readonly mode: Mode
  /** The rules of the agent, over the defaults. */
  readonly rules: Ruleset
  /** The ceilings of the session, of its agent, and of all above. Each restricts, and none lifts another. */
  readonly ceilings: ReadonlyArray<Ruleset>
  /** The rules for its calls when its run was requested: what they denied stays denied. Their other rules do not count. */
  readonly earlier?: ReadonlyArray<Ruleset>
  /** The current subject: agents may be switched and config may change while a call waits. */
  readonly now?: Effect.Effect<Subject>
}

/** The calling tool, by its name and its permission key. */
export interface Caller {
  readonly name: string
  readonly permission: string
  /** Whether Skein cannot tell what a call changes. */
  readonly opaque?: boolean
}

/** The call that a question is for. */
export interface AskingCall {
  readonly partID: PartID
  /** Whether an earlier process may have asked this already: then its question and its answer are reused. */
  readonly resumes: boolean
  /** The arguments of the call, and its id, for hooks. */
  readonly about?: { readonly input: unknown; readonly callID: string }
  /** Replaces the call's arguments with those of a hook that consents; if absent, such a hook is refused. */
  readonly changed?: (input: unknown) => void
}

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

/** The permissions whose patterns are paths. */
const ofPaths: ReadonlySet<string> = new Set(["edit", "external_directory", "list", "patch", "read", "write"])

/** Whether the patterns of a permission are paths. */
export const isOfPaths = (permission: string): boolean => ofPaths.has(permission)

/** Whether a path or a pattern begins at the root of the file system. */
export const isAbsolute = (path: string): boolean => /^(?:\/|[A-Za-z]:[\\/])/.test(path)

/** The names of a path: as rules of its project name it, relative to the root, and absolute. Rules that allow see the first relative name only. */
export interface PathNames {
  readonly relative: ReadonlyArray<string>
  readonly absolute: ReadonlyArray<string>
  /**
   * The names of the same file by the other checkouts of its repository. Rules that allow do not see them. To find them, the
   * repository is read: only for rules that could mean one of these names and none above.
   */
  readonly elsewhere?: () => Pick<PathNames, "absolute" | "relative">
}

/** The names of a path of which nothing else is known. */
export const onlyName = (path: string): PathNames => ({ relative: [path], absolute: [path] })

/**
 * The readings of a pattern that denies or asks: a name of a directory includes all below it, and `*` + `/` may be no
 * directory.
 */
export const readingsOf = (pattern: string): ReadonlyArray<string> => {
  const found = new Set([pattern, pattern.replace(/^\*+\//, "")])
  // Visits what is added, too.
  for (const each of found) {
    const at = each.indexOf("/**/")
    if (at >= 0 && found.size < 16) found.add(each.slice(0, at) + each.slice(at + 3)).add(each.replace("/**/", "/*/"))
  }
  const named = [...found].filter((each) => /(?:^|\/)[^*?/]+\/?$/.test(each))
  return [...found, ...named.map((each) => `${each.replace(/\/$/, "")}/*`)]
}

/** Whether a rule matches a path. */
const pathReaderOf = ({ action, pattern }: Rule): (names: PathNames) => boolean => {
  const isWhole = isAbsolute(pattern)
  const [fits = () => false, ...others] = (action === "allow" ? [pattern] : readingsOf(pattern)).map(globOf)
  if (action === "allow") return ({ absolute, relative: [first = ""] }) => isWhole ? absolute.some(fits) : fits(first)
  const fitsAny = (name: string) => fits(name) || others.some((each) => each(name))
  // The names in other checkouts only begin differently, which a wildcard at the beginning covers anyway.
  const isAnywhere = pattern.startsWith("*")
  return (names) => {
    const fitsOne = ({ absolute, relative }: Pick<PathNames, "absolute" | "relative">) =>
      (isWhole ? absolute : relative).some(fitsAny)
    return fitsOne(names) || (!isAnywhere && names.elsewhere !== undefined && fitsOne(names.elsewhere()))
  }
}

/** A rule, and whether it matches a pattern or a path. */
interface Reader {
  readonly rule: Rule
  readonly covers: (text: string, spaced: string) => boolean
  readonly coversPath: (names: PathNames) => boolean
}

/** With a trailing ` *`, matching the text and a space is the same as matching with and without arguments. */
const readerOf = (rule: Rule): Reader => {
  const { pattern } = rule
  if (pattern === readingCommands) return { rule, covers: () => false, coversPath: () => false }
  const covered = globOf(pattern)
  const coversPath = pathReaderOf(rule)
  if (!pattern.endsWith(" *")) return { rule, covers: covered, coversPath }
  const [beginning = ""] = pattern.slice(0, -2).split(/[*?]/, 1)
  return { rule, covers: (text, spaced) => text.startsWith(beginning) && covered(spaced), coversPath }
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
  what: string | PathNames,
  counts: (rule: Rule) => boolean = everyRule,
  reads = false
): Action | undefined => deciding(rules, permission, what, counts, reads)?.action

/** The rule that decides: the last one that matches. */
export const deciding = (
  rules: Ruleset,
  permission: string,
  what: string | PathNames,
  counts: (rule: Rule) => boolean = everyRule,
  reads = false
): Rule | undefined => {
  const all = readersOf(rules, permission)
  if (typeof what !== "string") return all.find((reader) => reader.coversPath(what) && counts(reader.rule))?.rule
  const spaced = `${what} `
  const covered = (reader: Reader) => reader.covers(what, spaced) || (reads && reader.rule.pattern === readingCommands)
  return all.find((reader) => covered(reader) && counts(reader.rule))?.rule
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
export const editingBy = (rules: Ruleset, path: string | PathNames): Action => {
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
