/**
 * Config values with their origins, for merging and for messages, and where servers run: in one directory for a whole
 * project, wherever in it a session works.
 */
import { placed, type RulePlace } from "@skein/core/RulePaths"
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import { fromConfig, type PermissionConfig, type Rule } from "@skein/domain/Rule"
import { basename, dirname } from "node:path"

/** A file and line, or a name such as that of a flag. */
export interface Origin {
  readonly name: string
  readonly line?: number
}

/** A rule with its origin. */
export interface SourcedRule extends Omit<Rule, "origin"> {
  readonly origin: Origin
}

/** An object, its keys in order. */
export interface SourcedRecord {
  readonly kind: "record"
  readonly entries: ReadonlyMap<string, Sourced>
  readonly origin: Origin
}

/** Rules; those of several files keep their order. */
interface SourcedRules {
  readonly kind: "rules"
  readonly rules: ReadonlyArray<SourcedRule>
}

/** A value without separate parts; `shown` is printed instead of it. */
export interface SourcedLeaf {
  readonly kind: "leaf"
  readonly value: unknown
  readonly shown?: unknown
  readonly origin: Origin
  /** A list that is appended to earlier ones instead of replacing them. */
  readonly joins?: true
}

/** A part of config. */
export type Sourced = SourcedRecord | SourcedRules | SourcedLeaf

/** A value with its path. */
export interface ConfigEntry {
  readonly path: ReadonlyArray<string>
  readonly value: unknown
  /** What to print instead of the value, if it came from the environment or another file. */
  readonly shown?: unknown
  readonly origin: string
}

/** Formats an origin as `file:line`. */
const formatOrigin = ({ line, name }: Origin): string => line === undefined ? name : `${name}:${line}`

/** A record of these entries. */
export const record = (entries: Iterable<readonly [string, Sourced]>, origin: Origin): SourcedRecord => ({
  kind: "record",
  entries: new Map(entries),
  origin
})

/** The path of a rule: `permission.edit` for all of `edit`, `permission.bash.git status` for one pattern. */
export const rulePath = (path: ReadonlyArray<string>, rule: Omit<Rule, "origin">): ReadonlyArray<string> =>
  rule.pattern === "*" ? [...path, rule.permission] : [...path, rule.permission, rule.pattern]

/** Whether the value at a path is a set of rules. */
export const holdsRules = (path: ReadonlyArray<string>): boolean =>
  (path.length === 1 && path[0] === "permission")
  || (path.length === 3 && path[0] === "agent" && (path[2] === "permission" || path[2] === "ceiling"))

/** Whether the object at a path is one value instead of a record of keys: a later one replaces it. */
export const isWhole = (path: ReadonlyArray<string>): boolean =>
  (path.length === 3 && path[0] === "agent" && path[2] === "output")
  || (path.length === 2 && (path[0] === "command" || path[0] === "mcp"))

/** Config from a value, with one origin for all of it. */
export const fromInfo = (info: ConfigInfo, origin: Origin): SourcedRecord => {
  const convert = (value: unknown, path: ReadonlyArray<string>): Sourced =>
    holdsRules(path)
      ? { kind: "rules", rules: fromConfig(value as PermissionConfig).map((rule) => ({ ...rule, origin })) }
      : typeof value === "object" && value !== null && !Array.isArray(value) && !isWhole(path)
      ? children(value, path)
      : { kind: "leaf", value, origin }
  const children = (value: object, path: ReadonlyArray<string>): SourcedRecord =>
    record(
      Object.entries(value).flatMap(([key, each]) =>
        each === undefined ? [] : [[key, convert(each, [...path, key])] as const]
      ),
      origin
    )
  return children(info, [])
}

/** Lays `over` on `under`: merges records key by key, appends rules, and replaces everything else. */
export const merge = (under: SourcedRecord, over: SourcedRecord): SourcedRecord => {
  const entries = new Map(under.entries)
  for (const [key, value] of over.entries) {
    const before = entries.get(key)
    entries.set(
      key,
      before?.kind === "record" && value.kind === "record"
        ? merge(before, value)
        : before?.kind === "rules" && value.kind === "rules"
        ? { kind: "rules", rules: [...before.rules, ...value.rules] }
        : before?.kind === "leaf" && value.kind === "leaf" && value.joins === true
        ? { ...value, value: [...listOf(before.value), ...listOf(value.value)] }
        : value
    )
  }
  return { kind: "record", entries, origin: over.origin }
}

const listOf = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []

/** The value at a path, if it is of this kind. */
export const valueAt = <Kind extends Sourced["kind"]>(
  tree: SourcedRecord,
  kind: Kind,
  path: ReadonlyArray<string>
): Extract<Sourced, { readonly kind: Kind }> | undefined => {
  let node: Sourced | undefined = tree
  for (const key of path) node = node?.kind === "record" ? node.entries.get(key) : undefined
  return node?.kind === kind ? node as Extract<Sourced, { readonly kind: Kind }> : undefined
}

/** The value without origins. */
export const toValue = (tree: Sourced): unknown => {
  switch (tree.kind) {
    case "record":
      return Object.fromEntries([...tree.entries].map(([key, value]) => [key, toValue(value)]))
    case "rules":
      return tree.rules.map(({ action, pattern, permission }): Rule => ({ permission, pattern, action }))
    default:
      return tree.value
  }
}

/** All values with their paths, in order; an empty record counts as one. */
export const entriesOf = (tree: Sourced, path: ReadonlyArray<string> = []): ReadonlyArray<ConfigEntry> => {
  switch (tree.kind) {
    case "record":
      return tree.entries.size === 0 && path.length > 0
        ? [{ path, value: {}, origin: formatOrigin(tree.origin) }]
        : [...tree.entries].flatMap(([key, value]) => entriesOf(value, [...path, key]))
    case "rules":
      return tree.rules.map((rule) => ({
        path: rulePath(path, rule),
        value: rule.action,
        origin: formatOrigin(rule.origin)
      }))
    default:
      return [{
        path,
        value: tree.value,
        origin: formatOrigin(tree.origin),
        ...(tree.shown === undefined ? {} : { shown: tree.shown })
      }]
  }
}

/** The same with all rules by the names of the paths that they mean. */
export const withPlacedRules = <Tree extends Sourced>(tree: Tree, place: RulePlace): Tree =>
  tree.kind === "record"
    ? { ...tree, entries: new Map([...tree.entries].map(([key, value]) => [key, withPlacedRules(value, place)])) }
    : tree.kind === "rules"
    ? { ...tree, rules: tree.rules.flatMap((rule) => placed(rule, place)) }
    : tree

/** Directories with config for the directory that they are in. */
const configDirectories = new Set([".claude", ".opencode", ".skein"])

/** The directory that a config file is about. */
export const aboutDirectory = (file: string): string => {
  const directory = dirname(file)
  return configDirectories.has(basename(directory)) ? dirname(directory) : directory
}

/**
 * The directories of all servers in a config, by the names of the servers. A server of a project's file runs where that
 * file is, so that relative paths in its command mean the same from every directory. All others run at `place`, the root
 * of the project.
 */
export const serverDirectories = (
  entries: ReadonlyArray<ConfigEntry>,
  projectFiles: ReadonlyArray<string>,
  place: string
): Readonly<Record<string, string>> =>
  Object.fromEntries(entries.flatMap(({ origin, path: [top, name = "", ...rest] }) => {
    if (top !== "mcp" || rest.length > 0) return []
    const file = projectFiles.find((each) => origin === each || origin.startsWith(`${each}:`))
    return [[name, file === undefined ? place : aboutDirectory(file)]]
  }))
