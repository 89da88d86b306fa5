/**
 * Decides which files a path in a rule means, however it is spelt and wherever a session works: rules name the files of
 * their project relative to its root, and all others absolutely.
 */
import type { Rule, Ruleset } from "@skein/domain/Rule"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { isAbsolute, isOfPaths, onlyName, type PathNames } from "./Ruleset.ts"

/** A path without `.`, `..` and repeated slashes. */
const normal = (path: string): string => {
  const names: Array<string> = []
  for (const name of path.split("/")) {
    if (name === "..") names.pop()
    else if (name !== "" && name !== ".") names.push(name)
  }
  return `${path.startsWith("/") ? "/" : ""}${names.join("/")}`
}

/** The way from a directory to a path in it, empty for the directory itself; undefined for a path elsewhere. */
const below = (directory: string, path: string): string | undefined =>
  path === directory ? "" : path.startsWith(directory === "/" ? "/" : `${directory}/`)
    ? path.slice(directory === "/" ? 1 : directory.length + 1)
    : undefined

const isWild = (text: string): boolean => /^[*?]/.test(text)

/** Where rules are read, and what their paths are relative to. */
export interface RulePlace {
  /** The root of the project, and other working trees of it: a rule for a path in one of them holds in all. */
  readonly roots: readonly [string, ...ReadonlyArray<string>]
  /** What relative patterns are relative to. */
  readonly base: string
  readonly home?: string | undefined
  /** Whether patterns below the home keep their `~/`, because the rules may be used on another host. */
  readonly keepsHome?: boolean
  /** Resolves the links of a path, also of what does not exist. */
  readonly real: (path: string) => string
}

/** The path where links in the way to a project, and the home, are resolved, but not those in the project. */
const entered = (path: string, { home, real, roots }: RulePlace): string => {
  const isInside = (at: string) => roots.some((root) => below(root, at) !== undefined)
  if (isInside(path)) return path
  const names = path.split("/")
  for (let at = 2; at <= names.length; at++) {
    const led = real(names.slice(0, at).join("/"))
    if (isInside(led)) return [led, ...names.slice(at)].join("/")
  }
  const inHome = home === undefined ? undefined : below(home, path)
  return home === undefined || inHome === undefined ? path : normal(`${real(home)}/${inHome}`)
}

/** The path as rules name it. */
const named = (path: string, { home, keepsHome = false, real, roots }: RulePlace): string => {
  for (const root of roots) {
    const way = below(root, path)
    // A wildcard at the beginning would match paths everywhere.
    if (way !== undefined) return way === "" || isWild(way) ? normal(`${roots[0]}/${way}`) : way
  }
  for (const each of home === undefined || !keepsHome ? [] : [home, real(home)]) {
    const way = below(each, path)
    if (way !== undefined) return `~/${way}`
  }
  return path
}

/**
 * A rule by the names of the paths that it means. What it denies or asks for also counts where links in the path lead; what
 * it allows only where it says.
 */
export const placed = <R extends Omit<Rule, "origin">>(rule: R, place: RulePlace): ReadonlyArray<R> => {
  const { action, pattern, permission } = rule
  const isAlsoOfOthers = /[*?]/.test(permission)
  const inHome = /^(?:~|\$HOME|\$\{HOME\})(?:\/(.*))?$/s.exec(pattern)
  if (pattern === "" || isWild(pattern) || (inHome !== null && place.home === undefined)) return [rule]
  if (!isAlsoOfOthers && !isOfPaths(permission)) {
    const isExpanded = inHome !== null && place.keepsHome !== true
    return isExpanded ? [{ ...rule, pattern: pattern.replace(/^[^/]+/, () => place.home ?? "~") }] : [rule]
  }
  const whole = normal(
    inHome !== null ? `${place.home}/${inHome[1] ?? ""}` : isAbsolute(pattern) ? pattern : `${place.base}/${pattern}`
  )
  const wild = whole.search(/[*?]/)
  const literal = wild < 0 ? whole : whole.slice(0, Math.max(whole.lastIndexOf("/", wild), 0))
  const rest = whole.slice(literal.length)
  const all = action === "allow" && pattern !== "/" && pattern.endsWith("/") ? "/*" : ""
  const ways = literal === "" || literal === "/"
    ? [literal]
    : action === "allow"
    ? [entered(literal, place)]
    : [literal, entered(literal, place), place.real(literal)]
  const [root] = place.roots
  // What denies or asks for a path in another working tree also means that very path, from whatever tree.
  const places = action === "allow" ? [place] : [place, { ...place, roots: [root] as const }]
  const patterns = [...new Set(ways.flatMap((way) => places.map((each) => named(`${way}${rest}${all}`, each))))]
  if (patterns.length === 1 && patterns[0] === pattern) return [rule]
  if (isAlsoOfOthers && action === "allow") return [rule]
  return [...isAlsoOfOthers ? [rule] : [], ...patterns.map((each) => ({ ...rule, pattern: each }))]
}

/** All rules of a set by such names; the same set if nothing changes. */
const placedAll = (rules: Ruleset, placeOf: (rule: Rule) => RulePlace): Ruleset => {
  const all = rules.flatMap((rule) => placed(rule, placeOf(rule)))
  return all.length === rules.length && all.every((rule, at) => rule === rules[at]) ? rules : all
}

/** What is known of where a session works. */
export type PlacedSession = Pick<SessionInfo, "directory" | "projectID"> & Partial<Pick<SessionInfo, "worktree">>

/** How the rules of a session are read. */
export interface SessionPaths {
  /** The names of a path that a call has: relative to the session's directory, or absolute. */
  readonly namesOf: (path: string) => PathNames
  /** Rules by the names of the paths that they mean. */
  readonly place: (rules: Ruleset) => Ruleset
}

/** At most this many places are known. */
const mostKnown = 1_000

const untidy = /(?:^|\/)\.{0,2}(?:\/|$)/

/** Makes it for the sessions of a process. */
export const makeSessionPaths = (
  { checkouts = () => [], home, real: follow = (path) => path }: {
    /** All working trees of the repository of a root, as they are now. */
    readonly checkouts?: ((root: string) => ReadonlyArray<string>) | undefined
    readonly home?: string | undefined
    readonly real?: ((path: string) => string) | undefined
  }
) => {
  const real = (path: string) => isAbsolute(path) ? follow(path) : path
  const known = new Map<string, () => SessionPaths>()

  const make = (session: PlacedSession): () => SessionPaths => {
    const directory = real(session.directory)
    const project = real(session.projectID)
    const tree = session.worktree === undefined ? undefined : real(session.worktree.root)
    const root = [tree, project].find((each) => each !== undefined && below(each, directory) !== undefined) ?? directory
    const roots: RulePlace["roots"] = [root, ...(root === tree ? [project] : [])]
    // Rules with an origin were read, and are relative to the root. Programs give rules for the session's directory.
    const placeOf = (rule: Rule): RulePlace => ({
      roots,
      base: rule.origin === undefined ? directory : root,
      home,
      real
    })
    const sets = new WeakMap<Ruleset, Ruleset>()
    const place = (rules: Ruleset) => {
      const found = sets.get(rules) ?? placedAll(rules, placeOf)
      sets.set(rules, found)
      return found
    }
    const namesIn = (trees: () => ReadonlyArray<string>) => (path: string): PathNames => {
      if (path.startsWith("~")) return onlyName(path)
      const full = isAbsolute(path)
        ? path
        : untidy.test(path)
        ? normal(`${directory}/${path}`)
        : `${directory}/${path}`
      const inRoot = below(root, full)
      return {
        relative: [inRoot === undefined ? full : inRoot || "."],
        absolute: [full, ...inRoot === undefined || root !== tree ? [] : [normal(`${project}/${inRoot}`)]],
        elsewhere: () => {
          const all = trees()
          // A file is of the innermost working tree that contains it.
          const own = all.reduce(
            (inner, each) => below(each, full) !== undefined && each.length > inner.length ? each : inner,
            inRoot === undefined ? "" : root
          )
          const way = own === "" ? undefined : below(own, full)
          return way === undefined ? { relative: [], absolute: [] } : {
            relative: own === root ? [] : [way || "."],
            absolute: all.filter((each) => each !== own).map((each) => normal(`${each}/${way}`))
          }
        }
      }
    }
    return () => {
      let found: ReadonlyArray<string> | undefined
      const trees = () => found ??= [...new Set([...roots, ...checkouts(root).map(real)])]
      return { place, namesOf: namesIn(trees) }
    }
  }

  return (session: PlacedSession): SessionPaths => {
    const key = `${session.projectID}\0${session.directory}\0${session.worktree?.root}`
    const found = known.get(key) ?? make(session)
    if (known.size >= mostKnown) known.clear()
    known.set(key, found)
    return found()
  }
}
