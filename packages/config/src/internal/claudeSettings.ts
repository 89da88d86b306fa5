/**
 * Reads the `settings.json` of Claude Code: applies its rules, runs hooks that are commands for events that Skein has,
 * and notes the rest.
 */
import { ClaudeHooksConfig } from "@skein/domain/HookConfig"
import { nearest } from "@skein/domain/Lookup"
import * as Effect from "effect/Effect"
import type { ConfigIssue } from "../ConfigError.ts"
import { issueIn } from "./configContent.ts"
import { settleContent } from "./configFile.ts"
import {
  actionOf,
  asNote,
  deniesAll,
  entry,
  isNothing,
  parseForeign,
  readModel,
  rule,
  seemsToRestrict,
  text,
  type WhyNot,
  wordOf
} from "./foreign.ts"
import { claudePatterns, does, hostPatterns, isRule, pathsBelow } from "./foreignLimits.ts"
import { type Fault, type Located, type LocatedEntry, type LocatedObject, plain } from "./located.ts"
import type { ConfigSource } from "./substitute.ts"

type Note = (at: Pick<LocatedEntry, "at" | "key">, message: string) => void

const events = Object.keys(ClaudeHooksConfig.fields)

/** The maximum time limit of a hook, in seconds. */
const longest = 3_600

const field = (tree: LocatedObject, name: string): Located | undefined =>
  tree.entries.find(({ key }) => key === name)?.value

/** A command with its supported options; `undefined` if it cannot run. */
const commandOf = (tree: Located, path: string, note: Note): Located | undefined => {
  const at = { at: tree.at, key: path }
  if (tree.kind !== "object") {
    note(at, "a hook that is not an object does not run")
    return undefined
  }
  const type = plain(field(tree, "type") ?? tree)
  const command = field(tree, "command")
  if (type !== "command" || command?.kind !== "string" || command.value.trim() === "") {
    const what = typeof type === "string" && type !== "command" ? `of the type ${type}` : "without a command"
    note(at, `a hook ${what} does not run: Skein runs only commands`)
    return undefined
  }
  const timeout = field(tree, "timeout")
  const seconds = timeout === undefined ? undefined : Number(plain(timeout))
  const counts = seconds !== undefined && seconds > 0 && seconds <= longest
  if (timeout !== undefined && !counts) {
    note(at, `its timeout is not a number of seconds up to ${longest}, so it has 60`)
  }
  for (const { at: place, key } of tree.entries) {
    if (!["type", "command", "timeout", "statusMessage"].includes(key)) {
      note({ at: place, key: `${path}.${key}` }, "Skein does not know it; the hook runs without it")
    }
  }
  return {
    ...tree,
    entries: tree.entries.filter(({ key }) => key === "type" || key === "command" || (key === "timeout" && counts))
  }
}

const groupOf = (tree: Located, path: string, note: Note): ReadonlyArray<Located> => {
  const at = { at: tree.at, key: path }
  const hooks = tree.kind === "object" ? field(tree, "hooks") : undefined
  if (tree.kind !== "object" || hooks?.kind !== "array") {
    note(at, "this is not an object with a list of hooks, and does not run")
    return []
  }
  const matcher = tree.entries.find(({ key }) => key === "matcher")
  if (matcher !== undefined && matcher.value.kind !== "string") {
    note(at, "its matcher is not text, so its hooks do not run")
    return []
  }
  const items = hooks.items.flatMap((each) => commandOf(each, path, note) ?? [])
  return items.length === 0
    ? []
    : [{
      ...tree,
      entries: [...(matcher === undefined ? [] : [matcher]), entry("hooks", hooks.at, { ...hooks, items })]
    }]
}

/** The hooks of the settings, in the form of Skein's config. */
const claudeHooksOf = ({ at, key, value }: LocatedEntry, note: Note): ReadonlyArray<LocatedEntry> => {
  if (value.kind !== "object") {
    note({ at, key }, "these must be an object with events, and do not run")
    return []
  }
  const known = value.entries.flatMap((each) => {
    const path = `hooks.${each.key}`
    if (!events.includes(each.key)) {
      note({ at: each.at, key: path }, "Skein does not know this event, and does not run its hooks")
      return []
    }
    if (each.value.kind !== "array") {
      note({ at: each.at, key: path }, "these must be a list, and do not run")
      return []
    }
    const items = each.value.items.flatMap((item) => groupOf(item, path, note))
    return items.length === 0 ? [] : [{ ...each, value: { ...each.value, items } }]
  })
  return known.length === 0 ? [] : [entry("claude_hooks", at, { ...value, entries: known })]
}

/** The lists by priority, lowest first: a denial always wins. */
const actions = ["allow", "ask", "deny"] as const

const unused: ReadonlyMap<string, string> = new Map([
  ["mcpServers", "put MCP servers into .mcp.json, or under mcp in skein.json"],
  ["enabledMcpjsonServers", "`skein trust` lists the servers of a project"],
  ["enableAllProjectMcpServers", "`skein trust` lists the servers of a project"]
])

/** Notes about such a file. */
interface Remarks {
  readonly notes: Array<Fault>
  /** Unreadable restrictions. */
  readonly loud: Array<Fault>
}

/** Reads such a file; unused keys are noted, and restrictions are applied or reported. */
export const readClaudeSettings = Effect.fnUntraced(function*({ path }: ConfigSource, whyNot: WhyNot) {
  const parsed = yield* parseForeign(path)
  if ("content" in parsed) return parsed.content
  const remarks: Remarks = { notes: [...parsed.notes], loud: [] }
  const entries = joined(settingsOf(parsed.tree, whyNot, remarks))
  // `{env:X}` and `{file:p}` have no meaning in these files.
  const settled = (kept: ReadonlyArray<LocatedEntry>) =>
    settleContent({ tree: { ...parsed.tree, entries: kept }, faults: [], refused: [] }, path)
  const whole = settled(entries)
  // A fault in hooks or variables must not disable the rules.
  const content = whole.issues.length === 0
    ? whole
    : settled(entries.filter(({ key }) => key !== "hooks" && key !== "env"))
  const loud = [...remarks.loud.map(issueIn(path)), ...whole.issues].map((issue): ConfigIssue => ({
    ...issue,
    kind: "restriction"
  }))
  return {
    ...content,
    issues: [],
    warnings: [...remarks.notes.map(issueIn(path)).map(asNote), ...loud, ...content.warnings.map(asNote)]
  }
})

const settingsOf = (tree: LocatedObject, whyNot: WhyNot, remarks: Remarks): ReadonlyArray<LocatedEntry> => {
  const hasNoHooks = tree.entries.some(({ key, value }) => key === "disableAllHooks" && plain(value) === true)
  return tree.entries.flatMap((each): ReadonlyArray<LocatedEntry> => {
    const { key, value } = each
    const noteAt = (place: Pick<LocatedEntry, "at" | "key">, message: string) =>
      remarks.notes.push({ at: place.at, key: place.key, message: `${place.key}: ${message}` })
    const note = (message: string) => noteAt(each, message)
    switch (key) {
      case "$schema":
        return []
      case "model":
        // A size selects a model relative to the session's model, which is what this key sets.
        return readModel(each, whyNot, (_, message) => note(message)).filter((found) =>
          !String(plain(found.value)).startsWith("session/")
        )
      case "env":
        return isNothing(value) ? [] : variablesOf(each, noteAt)
      case "disableAllHooks":
        if (plain(value) === true) note("the hooks of this file do not run; those of other files do")
        return []
      case "disabledMcpjsonServers":
        return disabledServersOf(each)
      case "hooks":
        return isNothing(value) || hasNoHooks ? [] : claudeHooksOf(each, noteAt)
      case "permissions":
        return permissionsOf(each, remarks)
      case "sandbox":
        return sandboxOf(each, remarks, note)
      case "skillOverrides":
        return isNothing(value) ? [] : overridesOf(each, note)
      default:
        // It has many keys, and they change; possible rules under another name must not be ignored.
        if (isNothing(value)) return []
        if (/^(?:ask|deny|denied|disallowed)(?:tools)?$/.test(wordOf(key))) {
          const list = entry(wordOf(key).startsWith("ask") ? "ask" : "deny", each.at, value)
          return permissionsOf({ ...each, value: { kind: "object", at: each.at, entries: [list] } }, remarks)
        }
        if (nearest(key, ["permissions"]) !== undefined) return permissionsOf(each, remarks)
        note(unused.get(key) ?? "Skein ignores it")
        return []
    }
  })
}

/** The servers of `.mcp.json` that it turns off. */
const disabledServersOf = ({ at, value }: LocatedEntry): ReadonlyArray<LocatedEntry> => {
  const names = value.kind === "array" ? value.items.flatMap((item) => item.kind === "string" ? [item.value] : []) : []
  const off: Located = { kind: "object", at, entries: [entry("enabled", at, { kind: "boolean", at, value: false })] }
  return names.length === 0
    ? []
    : [entry("mcp", at, { kind: "object", at, entries: names.map((name) => entry(name, at, off)) })]
}

/** Variables in the form of Skein's config. */
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
    note({ at: each.at, key: `env.${each.key}` }, "this is not a variable with text, and is not set")
    return []
  })
  return known.length === 0 ? [] : [entry("env", at, { ...value, entries: known })]
}

const unread = (at: Fault["at"], key: string): Fault => ({ at, key, message: `${key}: ${deniesAll}` })

const rulesEntry = (at: Fault["at"], items: ReadonlyArray<Located>): ReadonlyArray<LocatedEntry> =>
  items.length === 0 ? [] : [entry("permission", at, { kind: "array", at, items })]

/** The settings with all rules under one key, where a denial comes last. */
const joined = (entries: ReadonlyArray<LocatedEntry>): ReadonlyArray<LocatedEntry> => {
  const found = entries.filter(({ key }) => key === "permission")
  const [first] = found
  if (first === undefined) return entries
  const rules = found.flatMap(({ value }) => value.kind === "array" ? value.items : [])
  const items = actions.flatMap((action) => rules.filter(does(action)))
  return [...entries.filter((each) => !found.includes(each)), ...rulesEntry(first.value.at, items)]
}

const setOf = ({ value }: LocatedEntry): ReadonlyArray<LocatedEntry> => value.kind === "object" ? value.entries : []

/** What its sandbox keeps from commands. Skein keeps it from its other tools as well. */
const sandboxOf = (
  whole: LocatedEntry,
  { loud }: Remarks,
  note: (message: string) => void
): ReadonlyArray<LocatedEntry> => {
  const rules: Array<Located> = []
  for (const { at, key, value } of [whole, ...setOf(whole), ...setOf(whole).flatMap(setOf)]) {
    if (isNothing(value) || value.kind === "object") continue
    const names = (value.kind === "array" ? value.items : [value]).map((item) => String(plain(item)).trim())
    const deny = (permission: string, patterns: ReadonlyArray<string>) =>
      rules.push(...patterns.map((pattern) => rule(permission, pattern, "deny", at)))
    if (key === "denyRead") {
      const paths = names.flatMap(sandboxPaths)
      deny("read", paths)
      deny("external_directory", paths.filter((path) => /^[/~]/.test(path)))
    } else if (key === "denyWrite") deny("edit", names.flatMap(sandboxPaths))
    else if (key === "deniedDomains") {
      deny("webfetch", names.flatMap(hostPatterns))
      deny("bash_network", ["*"])
    } else if (value.kind !== "boolean" && actionOf(value) !== "deny" && mayDeny(key, value)) {
      const what = `${whole.key}: ${JSON.stringify(key)} is not understood, so no command runs`
      loud.push({ at, key: whole.key, message: `${what}; write it as permission in skein.json, and remove it here` })
      deny("bash", ["*"])
    }
  }
  if (rules.length === 0 && !isNothing(whole.value)) note("Skein has its own sandbox; see sandbox in skein.json")
  const isNeeded = setOf(whole).some(({ key, value }) => key === "failIfUnavailable" && plain(value) === true)
  return [...(isNeeded ? [entry("sandbox", whole.at, text("on", whole.at))] : []), ...rulesEntry(whole.at, rules)]
}

const mayDeny = (key: string, value: Located): boolean =>
  (seemsToRestrict(key) && !key.startsWith("allow")) || /"(?:deny|block|mask)"/.test(JSON.stringify(plain(value)))

/** A path of its sandbox and all below it. Unlike in rules, one with a slash in front is absolute. */
const sandboxPaths = (written: string): ReadonlyArray<string> => {
  const path = written.replace(/^\/\//, "/").replace(/(?<=.)\/+$/, "")
  const roots = /^[/~]/.test(path) ? [path] : pathsBelow(path.replace(/^\.?(?:\/|$)/, ""))
  return roots.flatMap((root) => root === "" || root === "/" ? [`${root}*`] : [root, `${root}/*`])
}

/** The skills that the model must not use. */
const overridesOf = ({ at, value }: LocatedEntry, note: (message: string) => void): ReadonlyArray<LocatedEntry> => {
  if (value.kind !== "object") note("this is not an object with skills")
  const kept = value.kind === "object" ? value.entries : []
  return rulesEntry(
    at,
    kept.filter((each) => !/^(?:on|true|nameonly)$/.test(wordOf(each.value)))
      .map((each) => rule("skill", each.key, "deny", each.at))
  )
}

const permissionsOf = ({ at, key: top, value }: LocatedEntry, remarks: Remarks): ReadonlyArray<LocatedEntry> => {
  if (isNothing(value)) return []
  if (value.kind !== "object") {
    remarks.loud.push(unread(value.at, top))
    return rulesEntry(at, [rule("*", "*", "deny", at)])
  }
  const settings: Array<LocatedEntry> = []
  const lists = new Map<(typeof actions)[number], Array<Located>>(actions.map((action) => [action, []]))
  let isUnclear = false
  for (const each of value.entries) {
    const { key } = each
    if (isNothing(each.value)) continue
    const path = `${top}.${key}`
    const note = (message: string) => remarks.notes.push({ at: each.at, key: path, message: `${path}: ${message}` })
    const action = actionOf(text(key, each.at)) ?? actions.find((name) => name === nearest(key, actions))
    if (action !== undefined) {
      const items = each.value.kind === "array" ? each.value.items : [each.value]
      if (each.value.kind === "array" || each.value.kind === "string") lists.get(action)?.push(...items)
      else if (action === "allow") note("this is not a list of rules such as \"Bash(git status)\"")
      else {
        isUnclear = true
        remarks.loud.push(unread(each.at, path))
      }
    } else if (key === "defaultMode" && plain(each.value) === "plan") {
      settings.push(entry("default_agent", each.at, text("plan", each.value.at)))
    } else if (key === "defaultMode") {
      if (plain(each.value) !== "default") note("Skein has no such mode; rules and flags decide")
    } else if (key === "additionalDirectories") note("allow external_directory in your own skein.json")
    else if (/^block(?:Reads|Writes)OutsideWorkingDirectories$/.test(key) && plain(each.value) === true) {
      lists.get("deny")?.push(text("external_directory", each.at))
    } else if (
      seemsToRestrict(key) && (each.value.kind === "boolean"
        ? each.value.value === true && !/^(?:allow|denyInstead|disable|skip)/.test(key)
        : !/^(?:disable|skip)/.test(key))
    ) {
      isUnclear = true
      remarks.loud.push(unread(each.at, path))
    } else note("Skein ignores it")
  }
  const rules = actions.flatMap((action) =>
    (lists.get(action) ?? []).flatMap((item): ReadonlyArray<Located> => {
      const written = item.kind === "string" ? item.value : ""
      const patterns = claudePatterns(written, action) ?? []
      if (!isRule(written)) {
        const what = `${top}.${action}: ${JSON.stringify(plain(item))} is not a rule`
        const so = action === "allow" ? "" : ", so it covers all that it may mean"
        const fault = {
          at: item.at,
          key: `${top}.${action}`,
          message: `${what}${so}; write Tool or Tool(what), such as "Read(./.env)"`
        }
        ;(action === "allow" ? remarks.notes : remarks.loud).push(fault)
      }
      // A part that is not understood may deny what is allowed or asked here.
      return isUnclear && action !== "deny"
        ? []
        : patterns.map(({ pattern, permission }) => rule(permission, pattern, action, item.at))
    })
  )
  return [...settings, ...rulesEntry(value.at, isUnclear ? [rule("*", "*", "deny", at), ...rules] : rules)]
}
