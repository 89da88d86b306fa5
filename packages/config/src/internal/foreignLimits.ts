/** Reads the limits of another tool's agent: its lists of tools, permissions and modes, in all common forms. */
import { claudePatterns } from "./claudePatterns.ts"
import { type Action, actionOf, type Foreign, isNothing, namesOf, rule, wordOf } from "./foreign.ts"
import { orderRules } from "./foreignRules.ts"
import { deniedNamed, permissionNamed, skeinNames, toolNamed } from "./foreignTools.ts"
import { type Fault, type Located, type LocatedEntry, type LocatedObject, type Place, plain } from "./located.ts"

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
