/** Decides what an `opencode.json` means to Skein, in its older shape (`mode`, `tools`) and in its newer one (`agent`, `permission`). */
import { nearest } from "@skein/core/Nearest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { issueIn, onlyIssues, parseFile, settleContent } from "./configFile.ts"
import { adapt, type Adapted, entry, type Known, openCodeTool, readModel, readRules, text } from "./foreignAgent.ts"
import { placeInstructions } from "./instructionPaths.ts"
import { type Fault, type Located, type LocatedEntry, type LocatedObject, plain } from "./located.ts"
import { type ConfigSource, substitute } from "./substitute.ts"

/** Keys that Skein reads. */
const used = [
  "$schema",
  "model",
  "small_model",
  "default_agent",
  "agent",
  "mode",
  "permission",
  "tools",
  "command",
  "instructions",
  "compaction"
] as const

/** Keys that Skein knows of and has no use for, with what there is instead. */
const unused: ReadonlyMap<string, string> = new Map([
  ["provider", "set up providers under provider in skein.json, best in your own"],
  ["mcp", "there are no MCP servers here, and agents have none of their tools"],
  ["plugin", "plugins are not loaded; hooks in skein.json are told of what happens"],
  ["formatter", "a hook for PostToolUse in skein.json can format files"],
  ...[
    "autoshare",
    "autoupdate",
    "disabled_providers",
    "enabled_providers",
    "enterprise",
    "experimental",
    "keybinds",
    "layout",
    "logLevel",
    "lsp",
    "server",
    "share",
    "skills",
    "snapshot",
    "theme",
    "tui",
    "username",
    "watcher"
  ].map((key) => [key, "Skein has no use for it"] as const)
])

/** Reads such a file; what in it means nothing here is told, and what is wrong in it is a mistake. */
export const readOpenCodeConfig = Effect.fnUntraced(function*(source: ConfigSource, known: Known) {
  const parsed = yield* Effect.either(parseFile(source.path))
  if (Either.isLeft(parsed)) return onlyIssues(source.path, parsed.left)
  const tree = parsed.right
  if (tree.kind !== "object") {
    return onlyIssues(source.path, [issueIn(source.path)({ at: tree.at, message: "this must be an object" })])
  }
  const { entries, faults, notes } = adaptConfig(tree, known)
  const filled = yield* substitute({ ...tree, entries }, source)
  const settled = settleContent({ ...filled, faults: [...faults, ...filled.faults] }, source.path)
  const content = placeInstructions(settled, source)
  return { ...content, warnings: [...notes.map(issueIn(source.path)), ...content.warnings] }
})

const adaptConfig = (tree: LocatedObject, known: Known): Adapted => {
  const faults: Array<Fault> = []
  const notes: Array<Fault> = []
  const note = ({ at, key }: LocatedEntry, message: string, path = key) =>
    notes.push({ at, key: path, message: `${path}: ${message}` })

  const agents = ({ key, value }: LocatedEntry): ReadonlyArray<LocatedEntry> => {
    if (value.kind !== "object") {
      faults.push({ at: value.at, key, message: `${key} must be an object with a key for each agent` })
      return []
    }
    return value.entries.flatMap((each): ReadonlyArray<LocatedEntry> => {
      const path = `${key}.${each.key}`
      if (each.value.kind !== "object") {
        faults.push({ at: each.value.at, key: path, message: `${path} must be an object` })
        return []
      }
      const adapted = adapt("opencode", each.value.entries, known)
      const below = (fault: Fault): Fault => ({
        ...fault,
        key: `${path}.${fault.key ?? ""}`,
        message: `${path}.${fault.message}`
      })
      faults.push(...adapted.faults.map(below))
      notes.push(...adapted.notes.map(below))
      const isMode = key === "mode" && !adapted.entries.some((inner) => inner.key === "mode")
      const mode = isMode ? [entry("mode", each.at, text("primary", each.at))] : []
      return [{ ...each, value: { ...each.value, entries: [...mode, ...adapted.entries] } }]
    })
  }

  const settings = tree.entries.flatMap((each): ReadonlyArray<LocatedEntry> => {
    const { key, value } = each
    const why = unused.get(key)
    if (why !== undefined) {
      note(each, why)
      return []
    }
    switch (key) {
      case "model":
      case "small_model":
        return readModel(each, known, (_, message) => note(each, message))
      case "default_agent":
        return [each]
      case "instructions":
        return [withoutAddresses(each, (message) => note(each, message))]
      case "compaction": {
        if (value.kind !== "object") return [each]
        for (const inner of value.entries) {
          if (inner.key !== "auto") note(inner, "Skein has no use for it", `compaction.${inner.key}`)
        }
        return [{ ...each, value: { ...value, entries: value.entries.filter((inner) => inner.key === "auto") } }]
      }
      case "$schema":
      // Commands are read by those who expand them.
      case "command":
      case "agent":
      case "mode":
      case "permission":
      case "tools":
        return []
      default: {
        const keys = [...used, ...unused.keys()]
        const meant = nearest(key, keys)
        faults.push({
          at: each.at,
          key,
          message: `unknown key ${JSON.stringify(key)}; ${
            meant === undefined ? "opencode.json has no such key" : `did you mean "${meant}"?`
          }`
        })
        return []
      }
    }
  })

  const named = ["agent", "mode"].flatMap((key) => tree.entries.filter((each) => each.key === key)).flatMap(agents)
  const seen = new Map<string, LocatedEntry>()
  for (const each of named) {
    const before = seen.get(each.key)
    if (before === undefined) seen.set(each.key, each)
    else {
      faults.push({
        at: each.at,
        key: each.key,
        message: `mode.${each.key} is the agent that line ${before.at.line} speaks of already; keep one`
      })
    }
  }
  const rules = rulesOf(tree, faults, (fault) => notes.push(fault))
  return {
    entries: [
      ...settings,
      ...(named[0] === undefined
        ? []
        : [entry("agent", named[0].at, { kind: "object", at: named[0].at, entries: named })]),
      ...(rules === undefined ? [] : [rules])
    ],
    faults,
    notes
  }
}

/** What holds for all agents: `permission`, and behind it what `tools` turns off, so that neither lifts the other. */
const rulesOf = (
  tree: LocatedObject,
  faults: Array<Fault>,
  note: (fault: Fault) => void
): LocatedEntry | undefined => {
  const find = (name: string) => tree.entries.find(({ key }) => key === name)
  const tools = find("tools")
  const permission = find("permission")
  const written = permission === undefined ? undefined : readRules(permission, note)
  if (tools === undefined) return written
  if (tools.value.kind !== "object" || tools.value.entries.some(({ value }) => value.kind !== "boolean")) {
    faults.push({
      at: tools.value.at,
      key: "tools",
      message: "tools must be an object of names of tools, each true or false"
    })
    return written
  }
  const all = tools.value.entries
  const off = all.filter(({ value }) => plain(value) === false)
  const isClosed = off.some(({ key }) => key === "*")
  const said = [
    ...off.map((each) => entry(openCodeTool(each.key), each.at, text("deny", each.value.at))),
    // What is turned on says nothing unless all else was turned off before.
    ...(isClosed
      ? all.filter(({ value }) => plain(value) === true)
        .map((each) => entry(openCodeTool(each.key), each.at, text("allow", each.value.at)))
      : [])
  ]
  const before = written === undefined
    ? []
    : written.value.kind === "object"
    ? written.value.entries.filter(({ key }) => !said.some((each) => each.key === key))
    : [{ ...written, key: "*" }]
  if (said.length === 0) return written
  const at = permission?.at ?? tools.at
  return entry("permission", at, { kind: "object", at, entries: [...before, ...said] })
}

const withoutAddresses = (each: LocatedEntry, note: (message: string) => void): LocatedEntry => {
  const { value } = each
  if (value.kind !== "array") return each
  const isAddress = (item: Located) => item.kind === "string" && /^https?:/i.test(item.value)
  for (const item of value.items) {
    if (isAddress(item)) note(`${String(plain(item))} is not fetched; put the text into a file of the project`)
  }
  return { ...each, value: { ...value, items: value.items.filter((item) => !isAddress(item)) } }
}
