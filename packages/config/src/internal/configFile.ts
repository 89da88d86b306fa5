/**
 * Reads one config file: parses it into a validated tree of values with origins. Commands of hooks are relative to the
 * file, and never to the directory of a session. Loaded only if there is such a file.
 */
import { ConfigInfo } from "@skein/domain/ConfigInfo"
import type { HookConfig } from "@skein/domain/HookConfig"
import { isSkeinItself, startsSkein } from "@skein/domain/McpConfig"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dirname } from "node:path"
import type { ConfigIssue } from "../ConfigError.ts"
import { checkShape } from "./checkShape.ts"
import { type ConfigContent, issueIn, onlyIssues } from "./configContent.ts"
import { placeInstructions } from "./instructionPaths.ts"
import { decodeTexts, type Fault, type Located, type LocatedEntry, parseLocated, plain } from "./located.ts"
import { readText } from "./readText.ts"
import { holdsRules, isWhole, record, type Sourced, type SourcedRecord, type SourcedRule } from "./sourced.ts"
import { type ConfigSource, substitute } from "./substitute.ts"

/** Whether the value at a path is the list of an event's hooks. */
const holdsHooks = (path: ReadonlyArray<string>): boolean => path.length === 2 && path[0] === "hooks"

const quoted = (path: string): string =>
  /^[\w./@+-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`

/**
 * Resolves a command that begins with `./` or `../` relative to its file, so that a cloned repository cannot replace
 * it.
 */
const placed = <A extends { readonly command?: string | undefined }>(hook: A, file: string): A =>
  hook.command !== undefined && /^\s*\.{1,2}\//.test(hook.command)
    ? { ...hook, command: `${quoted(dirname(file))}/${hook.command.trimStart().replace(/^(?:\.\/+)+/, "")}` }
    : hook

/** The hooks of an event, ready to run; they were validated before. */
export const besideFile = (value: unknown, file: string): ReadonlyArray<HookConfig> =>
  (value as ReadonlyArray<HookConfig>).map(({ hooks, ...entry }) => ({
    ...placed(entry, file),
    ...(hooks === undefined ? {} : { hooks: hooks.map((each) => placed(each, file)) })
  }))

/** The document in a file, or why it cannot be read. */
const parseFile = Effect.fnUntraced(function*(path: string) {
  const text = yield* Effect.mapError(readText(path), (error): ReadonlyArray<ConfigIssue> => [{ file: path, ...error }])
  const { faults, tree } = yield* Effect.try({
    try: () => parseLocated(text),
    catch: (): ReadonlyArray<ConfigIssue> => [{ file: path, message: "this is nested more than 100 levels deep" }]
  })
  return faults.length > 0 ? yield* Effect.fail(faults.map(issueIn(path))) : tree
})

/** Reads a file and reports all its faults. */
export const readConfigFile = Effect.fnUntraced(function*(source: ConfigSource) {
  const parsed = yield* Effect.either(parseFile(source.path))
  return Either.isLeft(parsed)
    ? onlyIssues(source.path, parsed.left)
    : placeInstructions(settleContent(yield* substitute(parsed.right, source), source.path), source)
})

/** Validates a document after substitution, and gives each value its origin. */
export const settleContent = (
  { faults, refused, tree: checked }: Effect.Effect.Success<ReturnType<typeof substitute>>,
  file: string
): ConfigContent => {
  const wrong = [...faults, ...checkShape(ConfigInfo.ast, checked)]
  const issues = wrong.map(issueIn(file))
  const sound = wrong.length === 0 ? checked : withoutFaults(checked, wrong)
  const tree = decodeTexts(ConfigInfo.ast, sound)
  if (tree.kind !== "object") return onlyIssues(file, issues)
  const { entries, ignored } = withoutSkein(tree.entries)
  return {
    tree: toRecord(entries, [], file, 1, new Set(refused.map(({ at }) => at))),
    issues,
    warnings: [...refused, ...ignored].map(issueIn(file))
  }
}

/** The keys without a fault, so that what they say can be checked further. Of agents and rules, those without one. */
const withoutFaults = (tree: Located, faults: ReadonlyArray<Fault>): Located => {
  const without = (node: Located, path: string): Located =>
    node.kind !== "object" ? node : {
      ...node,
      entries: node.entries.flatMap((entry) => {
        const key = `${path}${entry.key}`
        const isWrong = faults.some((fault) => fault.key === undefined || `${fault.key}.`.startsWith(`${key}.`))
        if (!isWrong) return [entry]
        const isSplit = /^(?:agent|permission)$/.test(key) && faults.every((fault) => fault.key !== key)
        return isSplit && entry.value.kind === "object"
          ? [{ ...entry, value: without(entry.value, `${key}.`) }]
          : []
      })
    }
  return without(tree, "")
}

const isSkein = ({ value }: LocatedEntry): boolean => {
  const command: unknown = value.kind === "object" ? Object(plain(value)).command : undefined
  return Array.isArray(command) && startsSkein(command.map(String))
}

/** The entries without MCP servers that are Skein itself. Other programs share these files, and may need them. */
const withoutSkein = (entries: ReadonlyArray<LocatedEntry>) => {
  const ignored: Array<Fault> = []
  const kept = entries.map((top): LocatedEntry => {
    if (top.key !== "mcp" || top.value.kind !== "object") return top
    const servers = top.value.entries.filter((server) => {
      if (!isSkein(server)) return true
      const key = `mcp.${server.key}`
      ignored.push({ at: server.at, key, message: `${key}: ${isSkeinItself}` })
      return false
    })
    return { ...top, value: { ...top.value, entries: servers } }
  })
  return { entries: kept, ignored }
}

const toRecord = (
  entries: ReadonlyArray<LocatedEntry>,
  path: ReadonlyArray<string>,
  file: string,
  line: number,
  refused: ReadonlySet<Located["at"]>
): SourcedRecord =>
  record(
    entries.flatMap(({ at, key, value }): ReadonlyArray<readonly [string, Sourced]> => {
      const inner = [...path, key]
      const origin = { name: file, line: at.line }
      // Tells editors which schema to use, and has no meaning in merged config.
      if (path.length === 0 && key === "$schema") return []
      if (holdsRules(inner)) return [[key, { kind: "rules", rules: toRules(value, file, at.line) }]]
      if (value.kind === "object" && !isWhole(inner)) {
        return [[key, toRecord(value.entries, inner, file, at.line, refused)]]
      }
      const parts = partsOf(value)
      if (parts.some((part) => refused.has(part.at))) return []
      const secret = parts.some((part) => "raw" in part && part.raw !== undefined)
      if (holdsHooks(inner)) {
        return [[key, { kind: "leaf", value: besideFile(plain(value), file), origin, shown: written(value) }]]
      }
      return [[key, { kind: "leaf", value: plain(value), origin, ...(secret ? { shown: written(value) } : {}) }]]
    }),
    { name: file, line }
  )

/** The values that a value consists of. */
const partsOf = (value: Located): ReadonlyArray<Located> =>
  value.kind === "array"
    ? value.items.flatMap(partsOf)
    : value.kind === "object"
    ? value.entries.flatMap((entry) => partsOf(entry.value))
    : [value]

/** A value as written in the file, before substitution. */
const written = (value: Located): unknown => {
  switch (value.kind) {
    case "array":
      return value.items.map(written)
    case "object":
      return Object.fromEntries(value.entries.map((entry) => [entry.key, written(entry.value)]))
    default:
      return value.raw ?? value.value
  }
}

const toRules = (value: Located, file: string, line: number): ReadonlyArray<SourcedRule> => {
  const rule = (permission: string, pattern: string, action: Located, at: number): SourcedRule => ({
    permission,
    pattern,
    action: plain(action) as SourcedRule["action"],
    origin: { name: file, line: at }
  })
  switch (value.kind) {
    case "object":
      return value.entries.flatMap(({ at, key, value: inner }) =>
        inner.kind === "object"
          ? inner.entries.map((entry) => rule(key, entry.key, entry.value, entry.at.line))
          : [rule(key, "*", inner, at.line)]
      )
    case "array":
      return value.items.map((item) => ({
        ...plain(item) as Omit<SourcedRule, "origin">,
        origin: { name: file, line: item.at.line }
      }))
    default:
      return [rule("*", "*", value, line)]
  }
}
