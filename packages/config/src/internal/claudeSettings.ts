/** Decides what the `settings.json` of Claude Code means to Skein: its rules count, the rest is told. */
import { nearest } from "@skein/core/Nearest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { claudeHooksOf } from "./claudeHookSettings.ts"
import { claudePatterns } from "./claudePatterns.ts"
import { issueIn, onlyIssues, parseFile, settleContent } from "./configFile.ts"
import { entry, type Known, readModel, text } from "./foreignAgent.ts"
import { type Fault, type Located, type LocatedEntry, type LocatedObject, plain } from "./located.ts"
import type { ConfigSource } from "./substitute.ts"

/** From what counts least: a denial counts whatever else is said. */
const actions = ["allow", "ask", "deny"] as const

const keys = [...actions, "defaultMode", "additionalDirectories", "disableBypassPermissionsMode"] as const

const unused: ReadonlyMap<string, string> = new Map([
  ["mcpServers", "there are no MCP servers here"]
])

/** Reads such a file; what in it means nothing here is told, and what is wrong in it is a mistake. */
export const readClaudeSettings = Effect.fnUntraced(function*({ path }: ConfigSource, known: Known) {
  const parsed = yield* Effect.either(parseFile(path))
  if (Either.isLeft(parsed)) return onlyIssues(path, parsed.left)
  const tree = parsed.right
  if (tree.kind !== "object") {
    return onlyIssues(path, [issueIn(path)({ at: tree.at, message: "this must be an object" })])
  }
  const faults: Array<Fault> = []
  const notes: Array<Fault> = []
  const entries = settingsOf(tree, known, faults, notes)
  // `{env:X}` and `{file:p}` mean nothing in these files.
  const content = settleContent({ tree: { ...tree, entries }, faults, refused: [] }, path)
  return { ...content, warnings: [...notes.map(issueIn(path)), ...content.warnings] }
})

const settingsOf = (
  tree: LocatedObject,
  known: Known,
  faults: Array<Fault>,
  notes: Array<Fault>
): ReadonlyArray<LocatedEntry> => {
  const note = ({ at, key }: Pick<LocatedEntry, "at" | "key">, message: string) =>
    notes.push({ at, key, message: `${key}: ${message}` })
  return tree.entries.flatMap((each): ReadonlyArray<LocatedEntry> => {
    const { at, key, value } = each
    switch (key) {
      case "$schema":
        return []
      case "env":
        return variablesOf(each, note)
      case "hooks":
        return claudeHooksOf(each, note)
      case "model":
        return readModel(each, known, (_, message) => note(each, message))
      case "permissions":
        if (value.kind === "object") return permissionsOf(value, faults, note)
        faults.push({ at: value.at, key, message: "permissions must be an object" })
        return []
      default:
        // Their keys are many and change; what may be rules under another name must not be passed over.
        if (nearest(key, ["permissions"]) === undefined) note(each, unused.get(key) ?? "Skein has no use for it")
        else faults.push({ at, key, message: `unknown key ${JSON.stringify(key)}; did you mean "permissions"?` })
        return []
    }
  })
}

/** Variables as config has them. */
const variablesOf = (
  { at, key, value }: LocatedEntry,
  note: (at: Pick<LocatedEntry, "at" | "key">, message: string) => void
): ReadonlyArray<LocatedEntry> => {
  if (value.kind !== "object") {
    note({ at, key }, "this must be an object with variables, and sets none")
    return []
  }
  const known = value.entries.flatMap((each): ReadonlyArray<LocatedEntry> => {
    const set = plain(each.value)
    const isSet = typeof set === "string" || typeof set === "number" || typeof set === "boolean"
    if (isSet && /^[A-Za-z_]\w*$/.test(each.key) && !String(set).includes("\0")) {
      return [entry(each.key, each.at, text(String(set), each.value.at))]
    }
    note({ at: each.at, key: `env.${each.key}` }, "this is no variable with a text, and is not set")
    return []
  })
  return known.length === 0 ? [] : [entry("env", at, { ...value, entries: known })]
}

const permissionsOf = (
  permissions: LocatedObject,
  faults: Array<Fault>,
  note: (at: Pick<LocatedEntry, "at" | "key">, message: string) => void
): ReadonlyArray<LocatedEntry> => {
  const settings: Array<LocatedEntry> = []
  for (const { at, key, value } of permissions.entries) {
    const path = `permissions.${key}`
    if (key === "defaultMode" && plain(value) === "plan") {
      settings.push(entry("default_agent", at, text("plan", value.at)))
    } else if (key === "defaultMode") {
      if (plain(value) !== "default") note({ at, key: path }, "Skein has no such mode; rules and flags decide")
    } else if (key === "additionalDirectories") {
      note({ at, key: path }, "allow external_directory in your own skein.json")
    } else if (!keys.some((each) => each === key)) {
      const meant = nearest(key, keys)
      faults.push({
        at,
        key: path,
        message: `unknown key ${JSON.stringify(key)} in permissions; ${
          meant === undefined ? `known keys: ${keys.join(", ")}` : `did you mean "${meant}"?`
        }`
      })
    }
  }
  const rules = actions.flatMap((action) => {
    const list = permissions.entries.find(({ key }) => key === action)
    if (list === undefined) return []
    const path = `permissions.${action}`
    if (list.value.kind !== "array") {
      faults.push({
        at: list.value.at,
        key: path,
        message: `${path} must be a list of rules such as "Bash(git push *)"`
      })
      return []
    }
    return list.value.items.flatMap((item): ReadonlyArray<Located> => {
      const patterns = item.kind === "string" ? claudePatterns(item.value, action) : undefined
      if (patterns !== undefined) return patterns.map((rule) => ruleAt(rule, action, item.at))
      faults.push({
        at: item.at,
        key: path,
        message: `${JSON.stringify(plain(item))} is no rule; write Tool or Tool(what), such as "Read(./.env)"`
      })
      return []
    })
  })
  const at = permissions.at
  return rules.length === 0 ? settings : [...settings, entry("permission", at, { kind: "array", at, items: rules })]
}

const ruleAt = (
  { pattern, permission }: { readonly permission: string; readonly pattern: string },
  action: string,
  at: Located["at"]
): Located => ({
  kind: "object",
  at,
  entries: Object.entries({ permission, pattern, action }).map(([key, value]) => entry(key, at, text(value, at)))
})
