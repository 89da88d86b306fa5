/**
 * Decides which values of a project's files count: those that their keys declare as free, those that restrict what the
 * user grants, and those that the user trusts exactly as written.
 */
import { builtins, defaultRules } from "@skein/core/Agent"
import { defaults } from "@skein/core/Config"
import { ConfigInfo } from "@skein/domain/ConfigInfo"
import { declared, type ProjectRule, trust } from "@skein/domain/ConfigKey"
import type { Rule } from "@skein/domain/Rule"
import { common, inside, narrow, overlaps } from "./mergeProject.ts"
import {
  type Origin,
  record,
  rulePath,
  type Sourced,
  type SourcedLeaf,
  type SourcedRecord,
  type SourcedRule,
  valueAt
} from "./sourced.ts"

/** Whether these are commands that would run without a question. */
export const holdsCommands = (top: string | undefined): boolean => top === "hooks" || top === "claude_hooks"

/** Whether this is an MCP server, which runs a program or says where requests go. */
export const isServer = ([top]: ReadonlyArray<string>): boolean => top === "mcp"

/** How far a project may set a key; what declares nothing needs trust. */
export const ruleAt = (path: ReadonlyArray<string>, ast = ConfigInfo.ast): ProjectRule =>
  declared(ast, path).rule ?? trust

/** What the user grants, as values. */
export interface Bounds {
  readonly user: SourcedRecord
  /** The providers that answer where the user's config names no model. */
  readonly vendors?: ReadonlyArray<string>
  /** The schema that declares the keys. */
  readonly ast?: typeof ConfigInfo.ast
}

/** A value of a project's file that does not count by itself. */
export interface Widening {
  readonly path: ReadonlyArray<string>
  readonly origin: Origin
  /** The value as written in the file. */
  readonly written: unknown
  /** The value that would take effect. */
  readonly value: unknown
  /** Why it is ignored. */
  readonly why: string
  /** Whether it may count once its user trusts it. */
  readonly isTrustable: boolean
}

/** The usable part of a project's config. */
interface Admitted {
  readonly tree: SourcedRecord
  /** Values that do not count by themselves, trusted or not. */
  readonly widenings: ReadonlyArray<Widening>
}

/** Why a value does not count by itself. */
interface Refusal {
  readonly why: string
  readonly isTrustable: boolean
}

type Path = ReadonlyArray<string>

const listOf = (value: unknown): ReadonlyArray<unknown> =>
  Array.isArray(value) ? value : value === undefined ? [] : [value]

const providersOf = (model: unknown): ReadonlyArray<string> =>
  listOf(model).map((each) => String(each).split("/", 1)[0] ?? "")

const builtinNamed = (name: string | undefined) => builtins.find((builtin) => builtin.name === name)

/** Whether neither the user nor Skein has an agent of this name. */
const isOwn = ({ user }: Bounds, name = ""): boolean =>
  valueAt(user, "record", ["agent", name]) === undefined && builtinNamed(name) === undefined

/** What the user grants at a path, by config or by saying nothing; undefined if there is no bound. */
const grantedAt = (grants: Bounds, path: Path): unknown => {
  const mine: unknown = valueAt(grants.user, "leaf", path)?.value
  if (mine !== undefined) return mine
  const { like, standard } = ruleAt(path, grants.ast)
  return like === undefined
    ? standard ?? path.reduce<unknown>((value, key) => Reflect.get(Object(value), key), defaults)
    : grantedAt(grants, like.split("."))
}

/** Why a value is no restriction; undefined if it is one. */
const exceeds = (grants: Bounds, { by }: ProjectRule, path: Path, value: unknown): string | undefined => {
  const granted = grantedAt(grants, path)
  const only = `a project's file can only restrict what you grant (${String(granted)})`
  switch (by) {
    case "rules":
    case "tools":
      return undefined
    case "amount":
      return granted === undefined || Number(value) <= Number(granted) ? undefined : only
    case "unset":
      return valueAt(grants.user, "leaf", path) === undefined ? undefined : "your own config sets it"
    case "own":
      return isOwn(grants, path[1]) ||
          value === (valueAt(grants.user, "leaf", path)?.value ?? Object(builtinNamed(path[1]))[path[2] ?? ""])
        ? undefined
        : "the agent is not the project's own"
    case "alone":
      return valueAt(grants.user, "record", ["agent", path[1] ?? ""]) === undefined
        ? undefined
        : "your own config has the agent"
    case "vendor": {
      const mine = valueAt(grants.user, "leaf", path) ?? valueAt(grants.user, "leaf", ["model"])
      const vendors = mine === undefined ? grants.vendors ?? [] : providersOf(mine.value)
      // A size is one of the vendor that answers.
      return providersOf(value).every((each) => each === "session" || vendors.includes(each))
        ? undefined
        : `it is not of your provider${vendors.length === 0 ? "" : ` (${vendors.join(", ")})`}`
    }
    default: {
      const order = listOf(by)
      const least = granted === undefined ? isOwn(grants, path[1]) ? 0 : order.length - 1 : order.indexOf(granted)
      return order.indexOf(value) >= least ? undefined : only
    }
  }
}

const refusalOf = (grants: Bounds, path: Path, value: unknown): Refusal | undefined => {
  const rule = ruleAt(path, grants.ast)
  // What holds anyway changes nothing.
  if (typeof value !== "object" && value === grantedAt(grants, path)) return undefined
  switch (rule.project) {
    case "free":
      return undefined
    case "never":
      return { why: "only your own config may set it", isTrustable: false }
    case "trust":
      return {
        why: path[0] === "read"
          ? "your rules ask before this file is read"
          : "a project's file sets it only with your trust",
        isTrustable: true
      }
    case "narrows": {
      const why = exceeds(grants, rule, path, value)
      return why === undefined ? undefined : { why, isTrustable: rule.never !== true }
    }
  }
}

/** Whether a person who reads it knows what it does. Of servers the names of variables say enough: what they hold goes there. */
const isWrittenOut = (written: unknown, path: Path): boolean =>
  !(isServer(path) ? /\{file:/ : /\{(?:env|file):/).test(JSON.stringify(written) ?? "")

/** Whether a server is only turned off, which restricts. */
const isOff = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Reflect.get(value, "enabled") === false

/** A server of a project: nobody believes what it says of itself, nor what the project says of it. */
const distrusted = (server: SourcedLeaf): SourcedLeaf => {
  const { read_only: _, ...rest } = Object(server.value)
  return { ...server, value: { ...rest, trust_hints: false } }
}

/** Hooks of a project run after the user's, and never replace them. */
const behind = (mine: SourcedLeaf | undefined, theirs: SourcedLeaf): SourcedLeaf =>
  mine === undefined
    ? theirs
    : {
      ...theirs,
      value: [...listOf(mine.value), ...listOf(theirs.value)],
      shown: [...listOf(mine.shown ?? mine.value), ...listOf(theirs.shown ?? theirs.value)]
    }

/** Collects what does not count by itself, and says whether it is trusted. */
type Counts = (path: Path, leaf: Omit<SourcedLeaf, "kind">, refusal: Refusal) => boolean

const makeCounts =
  (widenings: Array<Widening>, isTrusted: (widening: Widening) => boolean): Counts =>
  (path, { origin, shown, value }, { isTrustable, why }) => {
    const written = shown ?? value
    const isSeen = isWrittenOut(written, path)
    const widening = {
      path,
      origin,
      written,
      value,
      // The person who is asked to trust the value cannot see their content.
      why: isSeen ? why : `${why}, nor can {env:…} and {file:…} be trusted; put it into your own config if you want it`,
      isTrustable: isTrustable && isSeen
    }
    widenings.push(widening)
    return widening.isTrustable && isTrusted(widening)
  }

/** The values that count; rules are decided on separately. */
const keepValues = (grants: Bounds, counts: Counts, node: Sourced, path: Path = []): Sourced | undefined => {
  if (node.kind === "rules") return node
  if (node.kind === "record") {
    const kept = [...node.entries].flatMap(([key, value]) => {
      const each = keepValues(grants, counts, value, [...path, key])
      return each === undefined ? [] : [[key, each] as const]
    })
    // An empty provider would still be the first one.
    return kept.length === 0 && path.length > 0 && ruleAt(path, grants.ast).project !== "free"
      ? undefined
      : record(kept, node.origin)
  }
  const { keys, rule } = declared(grants.ast ?? ConfigInfo.ast, path)
  if (rule?.project === "free" && keys.length > 0 && typeof node.value === "object") {
    return keepFields(grants, counts, node, path)
  }
  const refusal = isServer(path) && isOff(node.value) ? undefined : refusalOf(grants, path, node.value)
  if (refusal !== undefined && !counts(path, node, refusal)) return undefined
  if (isServer(path)) return distrusted(node)
  return holdsCommands(path[0]) ? behind(valueAt(grants.user, "leaf", path), node) : node
}

/** The keys that count of an object that is one value, such as a command. */
const keepFields = (grants: Bounds, counts: Counts, node: SourcedLeaf, path: Path): SourcedLeaf => {
  const kept = (of: object) => Object.fromEntries(Object.entries(of).filter(([key]) => !refused.has(key)))
  const refused = new Set(
    Object.entries(Object(node.value)).flatMap(([key, value]) => {
      const refusal = refusalOf(grants, [...path, key], value)
      const shown: unknown = node.shown === undefined ? undefined : Reflect.get(Object(node.shown), key)
      return refusal === undefined || counts([...path, key], { origin: node.origin, value, shown }, refusal)
        ? []
        : [key]
    })
  )
  return {
    ...node,
    value: kept(Object(node.value)),
    ...(node.shown === undefined ? {} : { shown: kept(Object(node.shown)) })
  }
}

/**
 * Lays the project's rules over the user's: without trust, an `allow` can only take back the project's own restrictions,
 * to what the rules say without the project.
 */
const makeSoften = (project: SourcedRecord, counts: Counts) => {
  const trusted = new Map<SourcedRule, boolean>()
  /** `base` are the rules without the project, `above` the project's earlier rules. */
  return (
    path: Path,
    base: ReadonlyArray<Omit<Rule, "origin">>,
    above: ReadonlyArray<SourcedRule> = []
  ): ReadonlyArray<SourcedRule> => {
    const restricts = above.filter(({ action }) => action !== "allow")
    return rulesIn(project, path).flatMap((rule): ReadonlyArray<SourcedRule> => {
      if (rule.action !== "allow") {
        restricts.push(rule)
        return [rule]
      }
      const lifted = restricts.filter((each) =>
        overlaps(each.permission, rule.permission) && overlaps(each.pattern, rule.pattern)
      )
      const why = `a project's file may not allow${lifted.length === 0 ? "" : ", so your own rules apply"}`
      const may = trusted.get(rule)
        ?? counts(rulePath(path, rule), { origin: rule.origin, value: rule.action }, { why, isTrustable: true })
      trusted.set(rule, may)
      if (may) return [rule]
      if (lifted.length === 0) return []
      const before = inside(base, rule)?.map((each) => ({ ...each, origin: rule.origin }))
      return before ?? (lifted.some(({ action }) => action === "deny") ? [{ ...rule, action: "ask" }] : [])
    })
  }
}

const rulesIn = (tree: SourcedRecord, path: Path) => valueAt(tree, "rules", path)?.rules ?? []

const names = (leaf: SourcedLeaf | undefined): ReadonlyArray<string> | undefined =>
  Array.isArray(leaf?.value) ? leaf.value.map(String) : undefined

/** An agent with its lists of tools within the user's, and without a ceiling if it is the user's. */
const confined = (user: SourcedRecord, counts: Counts, name: string, kept: SourcedRecord): Map<string, Sourced> => {
  const path = ["agent", name]
  const entries = new Map(kept.entries)
  if (entries.has("ceiling") && valueAt(user, "record", path) !== undefined) {
    entries.delete("ceiling")
    counts([...path, "ceiling"], { origin: kept.origin, value: undefined }, {
      why: "a project's file may not change the ceiling of an agent of yours; use permission to deny",
      isTrustable: false
    })
  }
  for (const key of ["allowedTools", "allowAgents", "deniedTools"]) {
    const before = names(valueAt(user, "leaf", [...path, key]))
    const after = entries.get(key)
    if (before === undefined || after?.kind !== "leaf") continue
    const theirs = names(after) ?? []
    entries.set(key, { ...after, value: key === "deniedTools" ? [...before, ...theirs] : common(before, theirs) })
  }
  return entries
}

/**
 * Removes from a project's config what would exceed the user's and is not trusted; the rest is ready to be merged over
 * the user's.
 */
export const admit = (
  grants: Bounds,
  project: SourcedRecord,
  isTrusted: (widening: Widening) => boolean = () => false
): Admitted => {
  const { user } = grants
  const widenings: Array<Widening> = []
  const counts = makeCounts(widenings, isTrusted)
  const soften = makeSoften(project, counts)
  const mine = rulesIn(user, ["permission"])
  const usual = [...defaultRules, ...mine]
  const top = soften(["permission"], usual)
  const admitted = keepValues(grants, counts, project)
  const kept = admitted?.kind === "record" ? admitted : record([], project.origin)
  const entries = new Map(kept.entries)
  if (entries.has("permission")) entries.set("permission", { kind: "rules", rules: narrow(mine, top) })

  const agents = valueAt(kept, "record", ["agent"])
  const known = new Set([
    ...(agents?.entries.keys() ?? []),
    ...(valueAt(user, "record", ["agent"])?.entries.keys() ?? [])
  ])
  const changed = [...known].flatMap((name): ReadonlyArray<readonly [string, Sourced]> => {
    const path = ["agent", name, "permission"]
    const own = rulesIn(user, path)
    const base = [...usual, ...own]
    // The user's rules for an agent come after those for all agents, so the project's rules for all agents must as
    // well.
    const over = [
      ...(own.length === 0 ? [] : soften(["permission"], base)),
      ...soften(path, base, rulesIn(project, ["permission"]))
    ]
    const rules = narrow([...mine, ...own], over)
    const said = valueAt(kept, "record", ["agent", name])
    if (said === undefined && rules.length === 0) return []
    const changes = said === undefined ? new Map<string, Sourced>() : confined(user, counts, name, said)
    if (changes.has("permission") || rules.length > 0) changes.set("permission", { kind: "rules", rules })
    return [[name, { kind: "record", entries: changes, origin: said?.origin ?? project.origin }]]
  })
  if (changed.length > 0) entries.set("agent", record(changed, agents?.origin ?? project.origin))
  return { tree: { kind: "record", entries, origin: project.origin }, widenings }
}
