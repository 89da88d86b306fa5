/**
 * Reads the limits of another tool's agent: its lists of tools, permissions and modes, in all common forms, and rules of
 * Claude Code such as `Bash(npm run test:*)` or `Read(./secrets/**)`.
 */
import { covers } from "@skein/core/Ruleset"
import { type Action, actionOf, type Foreign, isNothing, namesOf, rule, wordOf } from "./foreign.ts"
import { type Fault, type Located, type LocatedEntry, type LocatedObject, type Place, plain } from "./located.ts"
import { coversAll } from "./mergeProject.ts"

const strictness: ReadonlyMap<unknown, number> = new Map([["allow", 0], ["ask", 1], ["deny", 2]])

const actions = (value: Located): ReadonlyArray<number> =>
  value.kind === "object"
    ? value.entries.map((entry) => actions(entry.value)[0] ?? 0)
    : [value.kind === "string" ? strictness.get(value.value) ?? 0 : 0]

const strictest = (value: Located): number => Math.max(0, ...actions(value))
const laxest = (value: Located): number => Math.min(2, ...actions(value))

/** Ordered rules, and those that were moved. */
interface OrderedRules {
  readonly entries: ReadonlyArray<LocatedEntry>
  readonly moved: ReadonlyArray<LocatedEntry>
}

/**
 * Moves each rule behind wider and more permissive ones that follow it. `"*": "allow"` after `"git push": "deny"` lifts
 * the denial in only one of OpenCode's versions; here the stricter reading applies.
 */
const order = (written: ReadonlyArray<LocatedEntry>): OrderedRules => {
  let entries: ReadonlyArray<LocatedEntry> = []
  const moved = new Set<LocatedEntry>()
  for (const entry of written) {
    const lifted = entries.filter(({ key, value }) =>
      coversAll(entry.key, key) && strictest(value) > laxest(entry.value)
    )
    for (const each of lifted) moved.add(each)
    entries = [...entries.filter((each) => !lifted.includes(each)), entry, ...lifted]
  }
  return { entries, moved: [...moved] }
}

/** Orders the rules of a `permission`, and the patterns within each. */
const orderRules = (value: Located): { readonly value: Located; readonly moved: OrderedRules["moved"] } => {
  if (value.kind !== "object") return { value, moved: [] }
  const inner = value.entries.map((entry) =>
    entry.value.kind === "object"
      ? { entry, ...order(entry.value.entries), object: entry.value }
      : { entry, entries: [], moved: [], object: undefined }
  )
  const outer = order(
    inner.map(({ entries, entry, object }) =>
      object === undefined ? entry : { ...entry, value: { ...object, entries } }
    )
  )
  return {
    value: { ...value, entries: outer.entries },
    moved: [...inner.flatMap(({ moved }) => moved), ...outer.moved]
  }
}

/** The equivalent tools, by their names there, as used in lists of tools and in rules. */
const toolsOfClaude: ReadonlyMap<string, string> = new Map([
  ["Read", "read"],
  ["Edit", "edit"],
  ["MultiEdit", "edit"],
  ["Write", "write"],
  ["Bash", "bash"],
  ["Grep", "grep"],
  ["Glob", "glob"],
  ["LS", "list"],
  ["WebFetch", "webfetch"],
  ["Task", "task"],
  ["Agent", "task"],
  ["TodoWrite", "todowrite"],
  ["TodoRead", "todoread"],
  ["Skill", "skill"],
  ["AskUserQuestion", "question"],
  ["NotebookRead", "read"],
  ["PowerShell", "bash"],
  ["Monitor", "bash"]
])

const toolNames = new Set(
  `read write edit patch glob grep list bash webfetch todowrite todoread task task_agent task_model skill question external_directory doom_loop`
    .split(" ")
)

/** Names in OpenCode. */
const exact: ReadonlyMap<string, string> = new Map([["multiedit", "edit"], ["applypatch", "patch"]])

/** Permissions of OpenCode under another name than here; since version 2, its `execute` runs scripts of tools. */
const openCode: ReadonlyMap<string, string> = new Map([
  ["shell", "bash"],
  ["subagent", "task"],
  ["multiedit", "edit"],
  ["apply_patch", "patch"],
  ["execute", "execute"]
])

const claude: ReadonlyMap<string, string> = new Map(
  [...toolsOfClaude].map(([name, ours]) => [name.toLowerCase(), ours])
)

/** Other names that people use for the same tools. They only count in denials: nothing is granted by a guess. */
const synonyms: ReadonlyMap<string, string> = new Map([
  ["notebookedit", "edit"],
  ["shell", "bash"],
  ["terminal", "bash"],
  ["execute", "bash"],
  ["exec", "bash"],
  ["command", "bash"],
  ["commands", "bash"],
  ["runcommand", "bash"],
  ["web", "webfetch"],
  ["fetch", "webfetch"],
  ["network", "webfetch"],
  ["internet", "webfetch"],
  ["search", "grep"],
  ["delete", "edit"],
  ["create", "edit"],
  ["agent", "task"],
  ["externaldirectory", "external_directory"],
  ["doomloop", "doom_loop"]
])

/** The tools of an MCP server in Claude Code: `mcp__SERVER` is all of one server, `mcp__SERVER__TOOL` one of them. */
const toolOfServer = (tool: string): string | undefined => {
  const [, server, name] = /^mcp__(.+?)(?:__(.*))?$/.exec(tool) ?? []
  return server === undefined ? undefined : `mcp_${server}_${name ?? "*"}`
}

/** Skein's name of a tool; undefined if it has none of that name. */
const toolNamed = (name: string): string | undefined => {
  const lower = name.trim().toLowerCase()
  return claude.get(lower) ?? (toolNames.has(lower) ? lower : exact.get(wordOf(name)) ?? toolOfServer(name.trim()))
}

/** Skein's name of a denied tool; undefined if no tool does the same. */
const deniedNamed = (name: string): string | undefined => toolNamed(name) ?? synonyms.get(wordOf(name))

/** The permission for a rule about a tool: an agent that may not write may not edit. */
const permissionNamed = (name: string): string | undefined => {
  const tool = deniedNamed(name)
  return tool === "write" || tool === "patch" ? "edit" : tool
}

/**
 * Skein's permissions for a rule about a tool, or about all tools that a wildcard covers. An unknown name may be that of
 * a tool of an MCP server: OpenCode calls it `SERVER_TOOL`, and Skein `mcp_SERVER_TOOL`.
 */
const skeinNames = (name: string, action: Action): ReadonlyArray<string> => {
  const named = openCode.get(name) ?? name
  const ours = action === "allow" ? toolNamed(named) : permissionNamed(named)
  if (ours !== undefined && named !== "execute") return [ours]
  const covered = [...openCode].flatMap(([theirs, our]) => covers(named, theirs) && !covers(named, our) ? [our] : [])
  return [named, ...new Set(covered), ...(/^(?:\*|mcp_)|^[^_*?]+$/.test(named) ? [] : [`mcp_${named}`])]
}

/** The subject of a rule. */
interface Spoken {
  readonly permission: string
  readonly pattern: string
}

/** The permission of the subject of a rule. Some tools have a permission there without existing here. */
const permissions: ReadonlyMap<string, string> = new Map([
  ...toolsOfClaude,
  ["Write", "edit"],
  ["NotebookEdit", "edit"],
  ["Skill", "skill"]
])

/** Agents that both programs have, under Skein's names. */
const agents: ReadonlyMap<string, string> = new Map([
  ["Explore", "explore"],
  ["Plan", "plan"],
  ["general-purpose", "general"]
])

const files = new Set(["read", "edit", "list"])

/**
 * Paths there are as in .gitignore; here `*` crosses directories. A denial may match more, and a permission must not.
 */
const pathsOf = (written: string, action: Action): ReadonlyArray<string> => {
  if (written.startsWith("//")) return [flat(written.slice(1))]
  if (written.startsWith("~/")) return [flat(written)]
  const below = written.replace(/^(?:\.?\/)+/, "")
  return action === "allow" ? [flat(below)] : pathsBelow(below)
}

/** The patterns of a path that a restriction means, wherever the session's directory is. */
export const pathsBelow = (path: string): ReadonlyArray<string> => {
  const below = flat(path)
  return below === "" || below.startsWith("*") ? [below] : [below, `*/${below}`]
}

const flat = (path: string): string => path.replaceAll(/\*\*\/|\*+/g, "*").replaceAll(/\*{2,}/g, "*")

const form = /^\s*([\w*-]+)\s*(?:\(([^]*)\))?\s*$/

/** Whether it has the form of a rule. */
export const isRule = (written: string): boolean => form.test(written)

/** The addresses of a host. */
export const hostPatterns = (host: string): ReadonlyArray<string> => [
  `*://${host}`,
  `*://${host}/*`,
  `*://${host}:*`
]

/**
 * The translation of such a rule; undefined for an invalid one that allows. An invalid one that restricts covers all
 * that it may mean: the whole tool, or everything. Tools that Skein does not have keep their names.
 */
export const claudePatterns = (text: string, action: Action): ReadonlyArray<Spoken> | undefined => {
  const [, tool, what] = form.exec(text) ?? []
  if (tool === undefined) {
    const begun = /^\s*([\w*-]+)/.exec(text)?.[1]
    return action === "allow" ? undefined : claudePatterns(begun ?? "*", action)
  }
  const named = permissions.get(tool) ?? toolOfServer(tool)
  const permission = named ?? (action === "allow" ? undefined : permissionNamed(tool)) ?? tool
  const all = (patterns: ReadonlyArray<string>) => patterns.map((each) => ({ permission, pattern: each }))
  const pattern = what?.trim()
  if (pattern === undefined || pattern === "" || pattern === "*") return all(["*"])
  if (permission === "bash") return all([pattern.replace(/:\*$/, " *")])
  // `NAME:*` is a skill with any arguments, or all skills of a plugin.
  if (permission === "skill" && pattern.endsWith(":*")) {
    return all(action === "allow" ? [pattern.slice(0, -2)] : [pattern.slice(0, -2), pattern])
  }
  if (permission === "task") return all([agents.get(pattern) ?? pattern])
  if (permission === "webfetch") {
    const host = /^domain:(.+)$/.exec(pattern)?.[1]?.trim()
    return all(host === undefined ? [pattern] : hostPatterns(host))
  }
  return all(files.has(permission) ? pathsOf(pattern, action) : [pattern])
}

/** The limits in a value. */
export interface Limits {
  /** Rules in the order in which they apply. */
  readonly rules?: ReadonlyArray<Located>
  /** The only tools that it has. */
  readonly allowed?: ReadonlyArray<string>
  /** The tools that it does not have. */
  readonly denied?: ReadonlyArray<string>
  /** Content with another meaning here, or none. */
  readonly notes?: ReadonlyArray<Fault>
}

const all: Limits = {}

/** A list of tools, and where it is. */
interface ToolList {
  readonly at: Place
  readonly tools: ReadonlyArray<string>
}

/** Several limits in one. */
export interface Combined {
  readonly allowed?: ToolList
  readonly denied?: ToolList
  readonly rules?: Located & { readonly kind: "array" }
}

/** Combines limits: each of them applies, whatever the others allow. */
export const combine = (limits: ReadonlyArray<readonly [LocatedEntry, Limits]>): Combined => {
  const sources = limits.flatMap(([, { rules = [] }]) => rules.length === 0 ? [] : [rules])
  // The last match wins, so the denials and questions of one key are repeated after what another allows.
  const again = sources.length < 2 ? [] : ["ask", "deny"].flatMap((action) => sources.flat().filter(does(action)))
  const given = limits.flatMap(([{ at }, { allowed }]) => allowed === undefined ? [] : [{ at, tools: allowed }])
  const taken = limits.flatMap(([{ at }, { denied }]) => denied === undefined ? [] : [{ at, tools: denied }])
  const at = limits.find(([, said]) => (said.rules ?? []).length > 0)?.[0].at
  const [first] = given
  return {
    ...(first === undefined
      ? {}
      : {
        allowed: { at: first.at, tools: first.tools.filter((tool) => given.every(({ tools }) => tools.includes(tool))) }
      }),
    ...(taken[0] === undefined
      ? {}
      : { denied: { at: taken[0].at, tools: [...new Set(taken.flatMap(({ tools }) => tools))] } }),
    ...(at === undefined ? {} : { rules: { kind: "array", at, items: [...sources.flat(), ...again] } })
  }
}

/** Whether a derived rule has this action. */
export const does = (action: string) => (found: Located): boolean =>
  found.kind === "object" && found.entries.some(({ key, value }) => key === "action" && plain(value) === action)

/** A list of the tools that an agent has; undefined if it is unreadable. */
export const readTools = ({ at, key, value }: LocatedEntry, from: Foreign): Limits | undefined => {
  if (value.kind === "null") {
    return { notes: [{ at, key, message: `${key}: the list is empty, so it has the tools of its session` }] }
  }
  if (value.kind === "boolean") return plain(value) === true ? all : { allowed: [] }
  if (value.kind === "object") return readSwitches(value, from)
  const names = namesOf(value)
  if (names === undefined) return undefined
  if (names.includes("*")) return all
  const notes: Array<Fault> = []
  const allowed = names.flatMap((name) => {
    const [, tool = name, scope] = /^([^(]*)(\(.*\))?$/s.exec(name) ?? []
    const ours = toolNamed(tool)
    if (ours === undefined) notes.push({ at, key, message: `${key}: Skein has no tool ${JSON.stringify(tool)}` })
    else if (scope !== undefined) {
      // The stricter reading applies: a part of a tool is not granted.
      notes.push({
        at,
        key,
        message: `${key}: ${
          JSON.stringify(name)
        } is only a part of a tool, which is not allowed; use permission in skein.json`
      })
      return []
    }
    return ours === undefined ? [] : [ours]
  })
  return { allowed: [...new Set(allowed)], notes }
}

/** Tools that are turned on and off, as in OpenCode. */
const readSwitches = (value: LocatedObject, from: Foreign): Limits => {
  const lists = new Map(value.entries.map((each) => [wordOf(each.key), each]))
  const allow = lists.get("allow") ?? lists.get("allowed")
  const deny = lists.get("deny") ?? lists.get("denied")
  if ((allow ?? deny)?.value.kind === "array") {
    const given = allow === undefined ? all : readTools(allow, from) ?? { allowed: [] }
    return { ...given, ...(deny === undefined ? {} : readDenied(deny, from) ?? { allowed: [] }) }
  }
  const said = value.entries.flatMap((each) => {
    const action = actionOf(each.value) ?? "deny"
    return namesFrom(from, each.key, action).map((name) => ({ each, name, action }))
  })
  const isClosed = said.some(({ action, name }) => name === "*" && action === "deny")
  const of = (action: Action) => said.filter((each) => each.action === action && each.name !== "*")
  const asks = of("ask").map(({ each, name }) => rule(name, "*", "ask", each.at))
  const denied = of("deny").map(({ name }) => name)
  const unread = value.entries.filter((each) => actionOf(each.value) === undefined)
  return {
    ...(asks.length === 0 ? {} : { rules: asks }),
    ...(isClosed
      ? { allowed: [...of("allow"), ...of("ask")].map(({ name }) => name) }
      : denied.length === 0
      ? {}
      : { denied }),
    notes: unread.map(({ at, key }) => ({
      at,
      key,
      message: `tools.${key}: this is neither true nor false, and read as false`
    }))
  }
}

/** In Claude Code, writing and editing are two tools; in OpenCode, they have one permission. */
const namesFrom = (from: Foreign, name: string, action: Action): ReadonlyArray<string> => {
  const tool = from === "claude" && action === "deny" ? deniedNamed(name) : undefined
  return tool === undefined ? skeinNames(name, action) : [tool]
}

/** A list of the tools that an agent does not have; undefined if it is unreadable. */
export const readDenied = ({ at, key, value }: LocatedEntry, from: Foreign): Limits | undefined => {
  if (isNothing(value)) return all
  const names = namesOf(value)
  if (names === undefined) return undefined
  if (names.includes("*")) return { allowed: [] }
  const notes: Array<Fault> = []
  const denied = names.flatMap((name) => {
    const [, tool = name, scope] = /^([^(]*)(\(.*\))?$/s.exec(name) ?? []
    const ours = namesFrom(from, tool, "deny")
    if (deniedNamed(tool) === undefined && !/[*?_]/.test(tool)) {
      notes.push({ at, key, message: `${key}: Skein has no tool ${JSON.stringify(tool)}` })
    } else if (scope !== undefined) {
      // The stricter reading applies: denying a part of a tool denies all of it.
      notes.push({
        at,
        key,
        message: `${key}: ${JSON.stringify(name)} is a part of a tool, and all of "${
          ours[0]
        }" is denied; use permission in skein.json`
      })
    }
    return ours
  })
  return { denied: [...new Set(denied)], notes }
}

const readOnlyWords = new Set(["readonly", "read", "readonlymode", "plan", "view", "viewonly", "analysis"])
const openWords = new Set([
  "default",
  "inherit",
  "normal",
  "standard",
  "auto",
  "full",
  "all",
  "readwrite",
  "acceptedits",
  "bypasspermissions",
  "dontask",
  "delegate",
  "unrestricted",
  "true",
  "allow"
])

/** The rules of an agent that changes nothing. */
const readOnly = (at: Located["at"]): Limits => ({ rules: [rule("edit", "*", "deny", at)] })

/** Whether an agent only reads; undefined if it is unreadable. */
export const readReadOnly = ({ value }: LocatedEntry): Limits | undefined => {
  if (isNothing(value)) return all
  const action = actionOf(value)
  if (action === "allow" || readOnlyWords.has(wordOf(value))) return readOnly(value.at)
  return action === "deny" ? all : undefined
}

/** A permission mode, by its name; undefined if it is unreadable. */
export const readMode = ({ at, key, value }: LocatedEntry): Limits | undefined => {
  if (value.kind !== "string" && value.kind !== "boolean") return isNothing(value) ? all : undefined
  const word = wordOf(value)
  if (readOnlyWords.has(word)) return readOnly(value.at)
  if (word === "deny" || word === "none" || word === "false") return { allowed: [] }
  if (word === "ask") return { rules: [rule("*", "*", "ask", value.at)] }
  if (!openWords.has(word) && word !== "") return undefined
  const message = `${key}: Skein ignores it; the permissions of the session apply`
  return word === "default" ? all : { notes: [{ at, key, message }] }
}

/**
 * The permissions of an agent: rules by tool, lists of rules as in Claude Code, a list of tools, or one word. `isOwn`
 * says whether its owner defines the key, in which case any tool may be named. Undefined if it is unreadable.
 */
export const readPermission = (written: LocatedEntry, from: Foreign, isOwn: boolean): Limits | undefined => {
  const { key, value } = written
  if (isNothing(value)) return all
  if (value.kind === "array") {
    if (value.items.some((item) => item.kind === "object" && partOf(item, "name") === undefined)) {
      return readRules(key, value.items)
    }
    const names = namesOf(value)
    return names?.every((name) => toolNamed(name.replace(/\(.*\)$/s, "")) !== undefined) === true
      ? readTools(written, from)
      : undefined
  }
  if (value.kind !== "object") {
    const action = isOwn ? actionOf(value) : undefined
    return action === undefined ? readMode(written) : { rules: [rule("*", "*", action, value.at)] }
  }
  const { moved, value: ordered } = orderRules(value)
  const notes = moved.map((each): Fault => ({
    at: each.at,
    key,
    message: `${key}: the rule for ${JSON.stringify(each.key)} applies, although a wider one follows it`
  }))
  const rules: Array<Located> = []
  // In lists by action, denials win, wherever the list is.
  const entries = ordered.kind === "object" ? ordered.entries.toSorted((a, b) => rankOf(a) - rankOf(b)) : []
  for (const each of entries) {
    const found = readRule(each, isOwn, notes)
    if (found === undefined) return undefined
    rules.push(...found)
  }
  return { rules, notes }
}

const partOf = (item: Located, name: string): Located | undefined =>
  item.kind === "object" ? item.entries.find(({ key }) => key === name)?.value : undefined

/** Rules in a list, as OpenCode has them since version 2: `{ action, resource, effect }`, the last match wins. */
const readRules = (key: string, items: ReadonlyArray<Located>): Limits | undefined => {
  const notes: Array<Fault> = []
  const rules: Array<Located> = []
  for (const item of items) {
    const [action, resource] = ["action", "resource"].map((name) => {
      const part = partOf(item, name)
      return part?.kind === "string" && part.value.trim() !== "" ? part.value.trim() : undefined
    })
    const said = partOf(item, "effect")
    const effect = said === undefined ? undefined : actionOf(said)
    const isWhole = action !== undefined && resource !== undefined && effect !== undefined
    if (!isWhole) {
      const isVague = action === undefined || (resource === undefined && said === undefined)
      if (isVague && effect !== "allow") return undefined
      const instead = effect === "allow"
        ? "it allows nothing"
        : `all of ${JSON.stringify(action)} that it may cover is denied`
      notes.push({ at: item.at, key, message: `${key}: a rule needs action, resource and effect, so ${instead}` })
      if (effect === "allow") continue
    }
    const counts = isWhole ? effect : "deny"
    rules.push(...skeinNames(action ?? "*", counts).map((name) => rule(name, resource ?? "*", counts, item.at)))
  }
  return { rules, notes }
}

const ranks = ["allow", "ask", "deny"]

/** The priority of a list of rules for one action; other keys come before them, in their order. */
const rankOf = ({ at, key, value }: LocatedEntry): number =>
  value.kind === "array" ? ranks.indexOf(actionOf({ kind: "string", at, value: key }) ?? "") : -1

const readRule = (
  each: LocatedEntry,
  isOwn: boolean,
  notes: Array<Fault>
): ReadonlyArray<Located> | undefined => {
  const { at, key, value } = each
  const list = actionOf({ kind: "string", at, value: key })
  if (list !== undefined && value.kind === "array") {
    return value.items.flatMap((item) =>
      (claudePatterns(item.kind === "string" ? item.value : "", list) ?? [])
        .map(({ pattern, permission }) => rule(permission, pattern, list, item.at))
    )
  }
  const isWord = wordOf(key) === "mode" || wordOf(key) === "permissionmode"
  const limits = isWord ? readMode(each) : undefined
  if (isWord) return limits?.rules ?? (limits?.allowed === undefined && limits !== undefined ? [] : undefined)
  const isKnown = isOwn || /[*_]/.test(key) || permissionNamed(key) !== undefined
  const one = (pattern: string, of: Located, place: LocatedEntry["at"]) => {
    const action = actionOf(of)
    if (action === undefined) {
      notes.push({ at, key, message: `${key}: ${JSON.stringify(plain(of))} is not an action, and is read as "deny"` })
    }
    return skeinNames(key, action ?? "deny").map((name) => rule(name, pattern, action ?? "deny", place))
  }
  const rules = value.kind === "object"
    ? value.entries.flatMap((inner) => one(inner.key, inner.value, inner.at))
    : one("*", value, at)
  // A restriction of something that Skein does not have would restrict nothing.
  return !isKnown && !rules.every(does("allow")) ? undefined : rules
}
