/**
 * Reads an `opencode.json` in each of its forms: the oldest (`mode`, `tools`), that of version 1 (`agent`,
 * `permission`), and that of version 2 (`agents`, `permissions` as a list of rules).
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import type { ConfigIssue } from "../ConfigError.ts"
import { asAgentName, type BrokenAgent } from "./agentFiles.ts"
import { issueIn } from "./configContent.ts"
import { settleContent } from "./configFile.ts"
import {
  type Adapted,
  asNote,
  deniesAll,
  entry,
  hasBlanks,
  isNothing,
  parseForeign,
  readModel,
  rule,
  seemsToRestrict,
  text,
  type WhyNot,
  wordOf
} from "./foreign.ts"
import { adapt } from "./foreignAgent.ts"
import { combine, does, type Limits, readDenied, readPermission, readTools } from "./foreignLimits.ts"
import { adaptServers } from "./foreignServers.ts"
import { placeInstructions } from "./instructionPaths.ts"
import { type Fault, type Located, type LocatedEntry, type LocatedObject, plain } from "./located.ts"
import { type ConfigSource, substitute } from "./substitute.ts"

/** The objects that contain models, or agents with models. */
const holders = new Set(["agent", "mode"])

const hasBlank = (value: Located): boolean => value.kind === "string" && /\{(?:env|file):/.test(value.value)

/** Substitutes `{env:X}` and `{file:p}` in model names. A name that cannot be substituted stays unchanged. */
const fillModels = (
  tree: LocatedObject,
  source: ConfigSource,
  depth = 0
): Effect.Effect<LocatedObject, never, FileSystem.FileSystem> =>
  Effect.map(
    Effect.forEach(tree.entries, (each): Effect.Effect<LocatedEntry, never, FileSystem.FileSystem> => {
      const { key, value } = each
      if ((key === "model" || key === "small_model") && hasBlank(value)) {
        return Effect.map(
          substitute(value, source, ["model"]),
          (filled) => filled.faults.length + filled.refused.length > 0 ? each : { ...each, value: filled.tree }
        )
      }
      return value.kind === "object" && (depth === 1 || (depth === 0 && holders.has(key)))
        ? Effect.map(fillModels(value, source, depth + 1), (filled) => ({ ...each, value: filled }))
        : Effect.succeed(each)
    }),
    (entries) => ({ ...tree, entries })
  )

/** What to use instead of some keys. */
const instead: ReadonlyMap<string, string> = new Map([
  ...["provider", "providers"].map((key) =>
    [key, "set up providers under provider in skein.json, best in your own"] as const
  ),
  ...["plugin", "plugins"].map((key) => [key, "plugins are not loaded; use hooks in skein.json"] as const),
  ["formatter", "a hook for PostToolUse in skein.json can format files"]
])

/** Reads such a file; unused keys are noted, and restrictions are applied or reported. */
export const readOpenCodeConfig = Effect.fnUntraced(function*(source: ConfigSource, whyNot: WhyNot) {
  const { path } = source
  const parsed = yield* parseForeign(path)
  if ("content" in parsed) return { ...parsed.content, broken: [] }
  const issueAt = issueIn(path)
  const tree = yield* fillModels(parsed.tree, source)
  const adapted = adaptConfig(tree, whyNot)
  const filled = yield* substitute({ ...tree, entries: adapted.entries }, source)
  // What cannot be substituted is left out, and the rest counts.
  const content = settleContent({ ...filled, faults: [], refused: [...filled.refused, ...filled.faults] }, path)
  const placed = placeInstructions({ ...content, issues: [] }, source)
  const loud = [...adapted.loud.map(issueAt), ...content.issues].map((issue): ConfigIssue => ({
    ...issue,
    kind: "restriction"
  }))
  return {
    ...placed,
    broken: adapted.broken.map(({ fault, name }): BrokenAgent => ({
      name,
      issues: [{ ...issueAt(fault), kind: "restriction" }]
    })),
    warnings: [...[...parsed.notes, ...adapted.notes].map(issueAt).map(asNote), ...loud, ...placed.warnings.map(asNote)]
  }
})

interface AdaptedConfig extends Omit<Adapted, "refused"> {
  /** Unreadable restrictions of all agents. */
  readonly loud: ReadonlyArray<Fault>
  readonly broken: ReadonlyArray<{ readonly name: string; readonly fault: Fault }>
}

const adaptConfig = (tree: LocatedObject, whyNot: WhyNot): AdaptedConfig => {
  const notes: Array<Fault> = []
  const loud: Array<Fault> = []
  const note = ({ at, key }: LocatedEntry, message: string, path = key) =>
    notes.push({ at, key: path, message: `${path}: ${message}` })

  const settings = tree.entries.flatMap((each): ReadonlyArray<LocatedEntry> => {
    const { key, value } = each
    switch (key) {
      case "model":
      case "small_model":
        // A size selects a model relative to the session's model, which is what this key sets.
        return readModel(each, whyNot, (_, message) => note(each, message))
          .filter((found) => key !== "model" || !String(plain(found.value)).startsWith("session/"))
      case "default_agent":
        if (value.kind === "string" && value.value.trim() !== "") {
          return [{ ...each, value: text(asAgentName(value.value), value.at) }]
        }
        note(each, "this is not a name of an agent")
        return []
      case "instructions":
        return instructionsOf(each, (message) => note(each, message))
      case "mcp":
        return adaptServers(each, "opencode", (place, message) => note({ ...each, ...place }, message))
      case "compaction":
        return compactionOf(
          each,
          (inner, message) => note(inner, message, inner === each ? key : `compaction.${inner.key}`)
        )
      case "$schema":
      // Commands are read by the command reader.
      case "command":
      case "commands":
      case "agent":
      case "agents":
      case "mode":
        return []
      default:
        if (!isNothing(value) && readerOf(each) === undefined) note(each, instead.get(key) ?? "Skein ignores it")
        return []
    }
  })

  const { agents, broken } = agentsOf(tree, whyNot, notes, loud)
  const rules = rulesOf(tree, notes, loud)
  return {
    entries: [
      ...settings,
      ...(agents[0] === undefined
        ? []
        : [entry("agent", agents[0].at, { kind: "object", at: agents[0].at, entries: agents })]),
      ...(rules === undefined ? [] : [rules])
    ],
    notes,
    loud,
    broken
  }
}

/** The agents of all keys; an agent under two of them has the settings of both. */
const agentsOf = (tree: LocatedObject, whyNot: WhyNot, notes: Array<Fault>, loud: Array<Fault>) => {
  const broken: Array<AdaptedConfig["broken"][number]> = []
  const agents = new Map<string, LocatedEntry>()
  const parts = ["mode", "agent", "agents"].flatMap((key) =>
    tree.entries.filter((each) => each.key === key).flatMap(({ at, value }) => {
      if (value.kind === "object") return value.entries.map((each) => ({ key, each }))
      if (!isNothing(value)) {
        loud.push({ at, key, message: `${key}: no agent is read; write an object with a key for each agent` })
      }
      return []
    })
  )
  for (const name of new Set(parts.map(({ each }) => each.key))) {
    const same = parts.filter(({ each }) => each.key === name)
    const [first] = same
    if (first === undefined) continue
    const path = `${first.key}.${name}`
    const written = same.flatMap(({ each }) => each.value.kind === "object" ? each.value.entries : [])
    const whole = same.every(({ each }) => each.value.kind === "object" || isNothing(each.value))
    const adapted = adapt("opencode", written, whyNot)
    const below = (fault: Fault): Fault => ({
      ...fault,
      key: `${path}.${fault.key ?? ""}`,
      message: `${path}.${fault.message}`
    })
    notes.push(...adapted.notes.map(below))
    const refused = hasBlanks(name)
      ? { at: first.each.at, key: path, message: `${path}: this is a placeholder of a template; fill it in` }
      : whole
      ? adapted.refused === undefined ? undefined : below(adapted.refused)
      : { at: first.each.at, key: path, message: `${path}: this is not an object` }
    const called = asAgentName(name)
    if (refused !== undefined) {
      broken.push({
        name: called,
        fault: { ...refused, message: `the agent ${JSON.stringify(name)} is left out: ${refused.message}` }
      })
      continue
    }
    const isMode = same.some(({ key }) => key === "mode") && !adapted.entries.some(({ key }) => key === "mode")
    const mode = isMode ? [entry("mode", first.each.at, text("primary", first.each.at))] : []
    const said = adapted.entries.filter(({ key }) => key !== "name")
    const at = first.each.at
    agents.set(called, entry(called, at, { kind: "object", at, entries: [...mode, ...said] }))
  }
  return { agents: [...agents.values()], broken }
}

/** The rules for all agents, with what `tools` turns off at the end, so that no other key lifts it. */
const rulesOf = (tree: LocatedObject, notes: Array<Fault>, loud: Array<Fault>): LocatedEntry | undefined => {
  const limits = tree.entries.flatMap((each): ReadonlyArray<readonly [LocatedEntry, Limits]> => {
    const read = readerOf(each)
    if (read === undefined) return []
    const said = read(each, "opencode")
    const { at, key } = each
    if (said === undefined) {
      loud.push({ at, key, message: `${key}: ${deniesAll}` })
      return [[each, { allowed: [] }]]
    }
    notes.push(...said.notes ?? [])
    return [[each, said]]
  })
  const { allowed, denied, rules } = combine(limits)
  const at = (rules ?? allowed ?? denied)?.at
  if (at === undefined) return undefined
  const kept = (rules?.items ?? []).filter((each) =>
    allowed === undefined || does("deny")(each) || allowed.tools.includes(permissionOf(each))
  )
  const only = allowed === undefined ? [] : [
    rule("*", "*", "deny", allowed.at),
    ...allowed.tools.map((tool) => rule(tool, "*", "allow", allowed.at))
  ]
  const off = denied === undefined ? [] : denied.tools.map((tool) => rule(tool, "*", "deny", denied.at))
  return entry("permission", at, { kind: "array", at, items: [...only, ...kept, ...off] })
}

const permissionOf = (written: Located): string =>
  String(
    written.kind === "object" ? plain(written.entries.find(({ key }) => key === "permission")?.value ?? written) : ""
  )

/** Parses a key that restricts all agents; an unknown one is treated as nothing, and reported. */
const readerOf = ({ key, value }: LocatedEntry): typeof readTools | undefined => {
  const word = wordOf(key)
  if (key === "tools") return readTools
  if (key === "permission") return (each, from) => readPermission(each, from, true)
  if (word === "permissions") return (each, from) => readPermission(each, from, false)
  if (/^(?:disallowed|denied|disabled|blocked)tools$/.test(word)) return readDenied
  return seemsToRestrict(key) && !isNothing(value) ? () => undefined : undefined
}

const instructionsOf = (each: LocatedEntry, note: (message: string) => void): ReadonlyArray<LocatedEntry> => {
  const { value } = each
  const items = value.kind === "array" ? value.items : value.kind === "null" ? [] : [value]
  const kept = items.filter((item) => {
    if (item.kind !== "string" || item.value.trim() === "") note(`${JSON.stringify(plain(item))} is not a path`)
    else if (/^https?:/i.test(item.value)) {
      note(`${item.value} is not fetched; copy the text into a file of the project`)
    } else return true
    return false
  })
  return [{ ...each, value: { kind: "array", at: value.at, items: kept } }]
}

const compactionOf = (
  each: LocatedEntry,
  note: (at: LocatedEntry, message: string) => void
): ReadonlyArray<LocatedEntry> => {
  const { value } = each
  if (value.kind !== "object") {
    note(each, "Skein ignores it")
    return []
  }
  const kept = value.entries.filter((inner) => inner.key === "auto" && inner.value.kind === "boolean")
  for (const inner of value.entries) if (!kept.includes(inner)) note(inner, "Skein ignores it")
  return [{ ...each, value: { ...value, entries: kept } }]
}
