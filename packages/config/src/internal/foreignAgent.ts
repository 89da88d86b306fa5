/** Decides what the keys of an agent of OpenCode or Claude Code mean to Skein; what means nothing here is told. */
import { toolsOfClaude } from "./claudeTools.ts"
import { orderRules } from "./foreignRules.ts"
import { plain } from "./located.ts"
import type { Fault, Located, LocatedEntry, Place } from "./located.ts"

/** Another program whose agents are read. */
export type Foreign = "opencode" | "claude"

const unused: Readonly<Record<Foreign, ReadonlySet<string>>> = {
  opencode: new Set(["options", "textVerbosity", "reasoningSummary", "thinking"]),
  claude: new Set(["skills", "mcpServers", "hooks", "memory", "background", "effort", "initialPrompt"])
}

const renamed: Readonly<Record<Foreign, ReadonlyMap<string, string>>> = {
  opencode: new Map([["top_p", "topP"], ["maxSteps", "steps"], ["reasoningEffort", "variant"]]),
  claude: new Map([["maxTurns", "steps"]])
}

const colors: ReadonlyMap<unknown, string> = new Map([["purple", "magenta"], ["pink", "magenta"], ["orange", "yellow"]])

/** What is left for Skein of an agent of another program. */
export interface Adapted {
  readonly entries: ReadonlyArray<LocatedEntry>
  readonly faults: ReadonlyArray<Fault>
  readonly notes: ReadonlyArray<Fault>
}

/** Whether a provider of this name can be looked up. */
export type Known = (providerID: string) => boolean

/** What a tool of OpenCode is called here. */
export const openCodeTool = (name: string): string =>
  name === "multiedit" ? "edit" : name === "apply_patch" ? "patch" : name

/** Reads a model of another program: one that cannot be looked up is told, and then that of the session is used. */
export const readModel = (
  each: LocatedEntry,
  known: Known,
  note: (at: Place, message: string) => void
): ReadonlyArray<LocatedEntry> => {
  const { at, value } = each
  if (value.kind !== "string" || value.value === "inherit" || value.value.includes("{")) {
    return value.kind === "string" && value.value === "inherit" ? [] : [each]
  }
  const [provider = "", model] = value.value.split("/")
  if (model !== undefined && known(provider)) return [each]
  note(
    at,
    `${
      model === undefined
        ? `which provider has ${JSON.stringify(value.value)} is not known`
        : `there is no provider ${JSON.stringify(provider)} here`
    }, so that the model of the session is used; agent.NAME.model in skein.json can choose one`
  )
  return []
}

/** Reads rules of OpenCode, and tells those of which the stricter reading counts. */
export const readRules = (each: LocatedEntry, note: (fault: Fault) => void): LocatedEntry => {
  const { moved, value } = orderRules(each.value)
  for (const { at, key } of moved) {
    note({
      at,
      key: each.key,
      message: `${each.key}: the rule for ${JSON.stringify(key)} counts, though a wider one follows it`
    })
  }
  return { ...each, value }
}

/** Turns the front matter of another program into the keys of Skein. */
export const adapt = (from: Foreign, written: ReadonlyArray<LocatedEntry>, isKnown: Known): Adapted => {
  const faults: Array<Fault> = []
  const notes: Array<Fault> = []
  const note = (at: Place, key: string, message: string) => notes.push({ at, key, message: `${key}: ${message}` })

  const claudeTools = ({ at, key, value }: LocatedEntry): ReadonlyArray<LocatedEntry> => {
    const names = namesOf(value)
    if (names === undefined) {
      faults.push({
        at: value.at,
        key,
        message: `${key} must be names of tools, as a list or with commas between them`
      })
      return []
    }
    const denies = key === "disallowedTools"
    if (!denies && names.includes("*")) return []
    const known = names.flatMap((name) => {
      const [, tool = name, scope] = /^([^(]*)(\(.*\))?$/s.exec(name) ?? []
      const ours = toolsOfClaude.get(tool.trim())
      if (ours === undefined) note(at, key, `Skein has no tool ${JSON.stringify(tool)}`)
      else if (scope !== undefined) {
        // The stricter reading counts: a part of a tool is not given, and is taken away with the whole of it.
        note(
          at,
          key,
          `${JSON.stringify(name)} is a part of a tool, ${
            denies ? `and all of "${ours}" is denied` : "which is not given"
          }; use permission in skein.json`
        )
        return denies ? [ours] : []
      }
      return ours === undefined ? [] : [ours]
    })
    return [entry(denies ? "deniedTools" : "allowedTools", at, texts([...new Set(known)], at))]
  }

  const openCodeTools = ({ at, key, value }: LocatedEntry): ReadonlyArray<LocatedEntry> => {
    if (value.kind !== "object" || value.entries.some((each) => each.value.kind !== "boolean")) {
      faults.push({ at: value.at, key, message: `${key} must be an object of names of tools, each true or false` })
      return []
    }
    const are = (wanted: boolean) =>
      value.entries.filter((each) => each.key !== "*" && plain(each.value) === wanted)
        .map((each) => openCodeTool(each.key))
    const none = value.entries.some((each) => each.key === "*" && plain(each.value) === false)
    return none
      ? [entry("allowedTools", at, texts(are(true), at))]
      : are(false).length === 0
      ? []
      : [entry("deniedTools", at, texts(are(false), at))]
  }

  const color = (each: LocatedEntry): ReadonlyArray<LocatedEntry> => {
    const known = colors.get(plain(each.value))
    if (known !== undefined) return [entry(each.key, each.at, text(known, each.value.at))]
    if (
      each.value.kind !== "string" ||
      /^(?:red|green|yellow|blue|magenta|cyan|white|gray|#[\da-f]{6})$/i.test(each.value.value)
    ) {
      return [each]
    }
    note(each.at, each.key, `Skein has no colour ${JSON.stringify(each.value.value)}`)
    return []
  }

  const entries = written.flatMap((each): ReadonlyArray<LocatedEntry> => {
    const { at, key, value } = each
    if (key === "model") return readModel(each, isKnown, (place, message) => note(place, key, message))
    if (key === "permission" && from === "opencode") return [readRules(each, (fault) => notes.push(fault))]
    if (key === "color") return color(each)
    if (key === "tools" && from === "opencode") return openCodeTools(each)
    if ((key === "tools" || key === "disallowedTools") && from === "claude") return claudeTools(each)
    if (key === "permissionMode" && from === "claude") {
      if (plain(value) === "plan") {
        const deny = entry("edit", at, text("deny", value.at))
        return [entry("permission", at, { kind: "object", at: value.at, entries: [deny] })]
      }
      if (plain(value) !== "default") note(at, key, "Skein has no use for it; the permissions of the session hold")
      return []
    }
    if (unused[from].has(key)) {
      note(at, key, "Skein has no use for it")
      return []
    }
    return [{ ...each, key: renamed[from].get(key) ?? key }]
  })
  const seen = new Map<string, Place>()
  for (const { at, key } of entries) {
    const before = seen.get(key)
    if (before === undefined) seen.set(key, at)
    else faults.push({ at, key, message: `this says "${key}", as line ${before.line} does already; keep one` })
  }
  return { entries, faults, notes }
}

/** An entry that was not written so. */
export const entry = (key: string, at: Place, value: Located): LocatedEntry => ({ key, at, value })

/** A text that was not written so. */
export const text = (value: string, at: Place): Located => ({ kind: "string", at, value })

const texts = (values: ReadonlyArray<string>, at: Place): Located => ({
  kind: "array",
  at,
  items: values.map((value) => text(value, at))
})

// Commas within parentheses are part of a name: `Task(a, b)`.
const namesOf = (value: Located): ReadonlyArray<string> | undefined => {
  if (value.kind === "string") {
    return value.value.split(/,(?![^()]*\))/).map((name) => name.trim()).filter((name) => name !== "")
  }
  const items: unknown = plain(value)
  return Array.isArray(items) && items.every((item) => typeof item === "string") ? items : undefined
}
