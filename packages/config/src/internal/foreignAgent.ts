/**
 * Translates the keys of an agent of OpenCode or Claude Code. Keys without a meaning here are noted; an unreadable
 * restriction rejects the agent.
 */
import {
  actionOf,
  type Adapted,
  entry,
  type Foreign,
  hasBlanks,
  isNothing,
  mayRestrict,
  readModel,
  selectionOf,
  text,
  texts,
  whyLeftOut,
  type WhyNot,
  wordOf
} from "./foreign.ts"
import {
  combine,
  type Combined,
  type Limits,
  readDenied,
  readMode,
  readPermission,
  readReadOnly,
  readTools
} from "./foreignLimits.ts"
import { type Fault, type Located, type LocatedEntry, type Place, plain } from "./located.ts"

const colors: ReadonlyMap<string, string> = new Map([
  ...["red", "green", "yellow", "blue", "magenta", "cyan", "white", "gray"].map((name) => [name, name] as const),
  ["grey", "gray"],
  ["purple", "magenta"],
  ["violet", "magenta"],
  ["pink", "magenta"],
  ["orange", "yellow"]
])

/** Parses a value that restricts nothing; undefined if it has no meaning here. */
type Reader = (value: Located) => Located | undefined

const asText: Reader = (value) =>
  value.kind === "string" || value.kind === "number" || value.kind === "boolean"
    ? text(String(plain(value)).trim(), value.at)
    : undefined

const asNumber: Reader = (value) => {
  const found = value.kind === "string" && value.value.trim() !== "" ? Number(value.value) : plain(value)
  return typeof found === "number" && Number.isFinite(found)
    ? { kind: "number", at: value.at, value: found }
    : undefined
}

const asCount: Reader = (value) => {
  const found = asNumber(value)
  const count = Number(found === undefined ? 0 : plain(found))
  return Number.isInteger(count) && count > 0 ? found : undefined
}

const asSwitch: Reader = (value) => {
  const action = actionOf(value)
  return action === undefined || action === "ask"
    ? undefined
    : { kind: "boolean", at: value.at, value: action === "allow" }
}

const asColor: Reader = (value) => {
  if (value.kind !== "string") return undefined
  const written = value.value.trim()
  const named = colors.get(written.toLowerCase())
  const [, short] = /^#([\da-f]{3})$/i.exec(written) ?? []
  return named !== undefined
    ? text(named, value.at)
    : short !== undefined
    ? text(`#${[...short].map((digit) => digit + digit).join("")}`, value.at)
    : /^#[\da-f]{6}$/i.test(written)
    ? text(written, value.at)
    : undefined
}

const asMode: Reader = (value) =>
  /^(?:primary|subagent|all)$/.test(wordOf(value)) ? text(wordOf(value), value.at) : undefined

const asIsolation: Reader = (value) => wordOf(value) === "worktree" ? text("worktree", value.at) : undefined

/** Keys that restrict nothing, by their normalised name: Skein's key, and the parser. */
const settings: ReadonlyMap<string, readonly [key: string, read: Reader]> = new Map([
  ["description", ["description", asText]],
  ["mode", ["mode", asMode]],
  ["variant", ["variant", asText]],
  ["reasoningeffort", ["variant", asText]],
  ["temperature", ["temperature", asNumber]],
  ["topp", ["topP", asNumber]],
  ["steps", ["steps", asCount]],
  ["maxsteps", ["steps", asCount]],
  ["maxturns", ["steps", asCount]],
  ["prompt", ["prompt", asText]],
  ["system", ["prompt", asText]],
  ["hidden", ["hidden", asSwitch]],
  ["color", ["color", asColor]],
  ["colour", ["color", asColor]]
])

/** Keys that restrict, by their normalised name. */
const readers: ReadonlyMap<string, (each: LocatedEntry, from: Foreign) => Limits | undefined> = new Map([
  ["tools", readTools],
  ["allowedtools", readTools],
  ["disallowedtools", readDenied],
  ["deniedtools", readDenied],
  ["disabledtools", readDenied],
  ["blockedtools", readDenied],
  ["readonly", readReadOnly],
  ["permissionmode", readMode],
  ["permission", (each: LocatedEntry, from: Foreign) => readPermission(each, from, from === "opencode")],
  ["permissions", (each: LocatedEntry, from: Foreign) => readPermission(each, from, false)]
])

const noUse = "Skein ignores it"

/** Translates the keys of another tool's agent to Skein's. */
export const adapt = (from: Foreign, written: ReadonlyArray<LocatedEntry>, whyNot: WhyNot): Adapted => {
  const notes: Array<Fault> = []
  const note = (at: Place, key: string, message: string) => notes.push({ at, key, message })
  const limits: Array<readonly [LocatedEntry, Limits]> = []
  const found = new Map<string, LocatedEntry>()
  let refused: Fault | undefined
  const refuse = (at: Place, key: string, message: string) => {
    refused ??= { at, key, message }
  }

  const restrict = (each: LocatedEntry, said: Limits | undefined) => {
    if (said === undefined) {
      refuse(each.at, each.key, `${each.key}: ${whyLeftOut(each.key)}`)
      return
    }
    limits.push([each, said])
    notes.push(...(said.notes ?? []))
  }

  const set = (key: string, each: LocatedEntry, value: Located) => {
    if (found.has(key)) note(each.at, each.key, `${each.key}: the agent has this key twice; the last one is used`)
    found.set(key, entry(key, each.at, value))
  }

  for (const each of written) {
    const { at, key, value } = each
    const word = wordOf(key)
    if (value.kind === "string" && hasBlanks(value.value) && (word !== "prompt" && word !== "description")) {
      refuse(at, key, `${key}: ${JSON.stringify(value.value)} is a placeholder of a template; fill it in`)
      continue
    }
    const reader = readers.get(word)
    const setting = settings.get(word)
    if (word === "name") {
      const name = asText(value)
      if (name !== undefined && plain(name) !== "") set("name", each, name)
      else note(at, key, `${key}: this is not a name, and that of the file is used`)
    } else if (word === "model") {
      const { variant } = selectionOf(value)
      const models = readModel(each, whyNot, (place, message) => note(place, key, `${key}: ${message}`))
      for (const model of models) set("model", each, model.value)
      if (models.length > 0 && variant !== undefined) set("variant", each, variant)
    } else if (reader !== undefined) restrict(each, reader(each, from))
    else if (word === "mode" && asMode(value) === undefined && readReadOnly(each)?.rules !== undefined) {
      restrict(each, readReadOnly(each))
    } else if (word === "disable" || word === "disabled" || word === "enabled") {
      const isOn = isNothing(value) ? word === "enabled" : asSwitch(value)
      if (isOn === undefined) refuse(at, key, `${key}: this is neither true nor false`)
      else if ((isOn === true || (typeof isOn === "object" && plain(isOn) === true)) === (word !== "enabled")) {
        set("disable", each, { kind: "boolean", at: value.at, value: true })
      }
    } else if (word === "isolation") {
      const isolation = asIsolation(value)
      if (isolation !== undefined) set("isolation", each, isolation)
      else if (isNothing(value) || actionOf(value) === "deny") note(at, key, `${key}: ${noUse}`)
      else restrict(each, undefined)
    } else if (setting !== undefined) {
      const [ours, read] = setting
      const settled = read(value)
      if (settled !== undefined) set(ours, each, settled)
      else {note(
          at,
          key,
          ours === "color"
            ? `${key}: Skein has no colour ${shown(value)}`
            : `${key}: ${shown(value)} has no meaning here`
        )}
    } else if (mayRestrict(each)) restrict(each, undefined)
    else note(at, key, `${key}: ${noUse}`)
  }
  return {
    entries: [...found.values(), ...entriesOf(combine(limits))],
    notes,
    ...(refused === undefined ? {} : { refused })
  }
}

const shown = (value: Located): string => {
  const written = JSON.stringify(plain(value))
  return written.length > 60 ? `${written.slice(0, 60)}…` : written
}

const entriesOf = ({ allowed, denied, rules }: Combined): ReadonlyArray<LocatedEntry> => [
  ...(allowed === undefined ? [] : [entry("allowedTools", allowed.at, texts(allowed.tools, allowed.at))]),
  ...(denied === undefined ? [] : [entry("deniedTools", denied.at, texts(denied.tools, denied.at))]),
  ...(rules === undefined ? [] : [entry("permission", rules.at, rules)])
]
