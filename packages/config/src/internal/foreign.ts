/** Words for what is read of the files of other tools. */
import { type Fault, type Located, type LocatedEntry, type Place, plain } from "./located.ts"

/** Another tool whose files are read. */
export type Foreign = "opencode" | "claude"

/** Why the models of a provider cannot be used here, in words that go behind a name; undefined where they can. */
export type WhyNot = (providerID: string) => string | undefined

/** What is left for Skein of a part of another tool's file. */
export interface Adapted {
  readonly entries: ReadonlyArray<LocatedEntry>
  /** What means nothing here. */
  readonly notes: ReadonlyArray<Fault>
  /** A restriction that could not be read: whatever it restricts must not be used without it. */
  readonly refused?: Fault
}

/** An entry that was not written so. */
export const entry = (key: string, at: Place, value: Located): LocatedEntry => ({ key, at, value })

/** A text that was not written so. */
export const text = (value: string, at: Place): Located => ({ kind: "string", at, value })

/** A list that was not written so. */
export const texts = (values: ReadonlyArray<string>, at: Place): Located => ({
  kind: "array",
  at,
  items: values.map((value) => text(value, at))
})

/** A rule that was not written so. */
export const rule = (permission: string, pattern: string, action: Action, at: Place): Located => ({
  kind: "object",
  at,
  entries: Object.entries({ permission, pattern, action }).map(([key, value]) => entry(key, at, text(value, at)))
})

/** What a rule does. */
export type Action = "allow" | "ask" | "deny"

const actions: ReadonlyMap<string, Action> = new Map([
  ...["allow", "allowed", "yes", "on", "true", "enabled"].map((word) => [word, "allow"] as const),
  ...["ask", "confirm", "prompt"].map((word) => [word, "ask"] as const),
  ...["deny", "denied", "no", "off", "false", "disabled", "none", "never", "block", "forbid"].map((word) =>
    [word, "deny"] as const
  )
])

/** The action that a value names, also in the words that people use for it. */
export const actionOf = (value: Located): Action | undefined =>
  value.kind === "string" || value.kind === "boolean" ? actions.get(wordOf(value)) : undefined

/** A value as one lower-case word, however it is spelt: `read-only`, `readOnly` and `Read Only` are the same. */
export const wordOf = (value: Located | string): string =>
  String(typeof value === "string" ? value : plain(value)).toLowerCase().replaceAll(/[-_\s]/g, "")

/** Whether nothing is said: a key without a value, or with an empty list or text. */
export const isNothing = (value: Located): boolean =>
  value.kind === "null"
  || (value.kind === "string" && value.value.trim() === "")
  || (value.kind === "array" && value.items.length === 0)
  || (value.kind === "object" && value.entries.length === 0)

/** Names in a list, or in a text with commas between them; undefined where it is neither. Commas in parentheses belong to a name. */
export const namesOf = (value: Located): ReadonlyArray<string> | undefined => {
  if (value.kind === "string") {
    return value.value.replace(/^\s*\[([^]*)\]\s*$/, "$1").split(/[,\n](?![^()]*\))/)
      .map((name) => name.trim().replace(/^(?:- +)?(["']?)(.*)\1$/s, "$2").trim()).filter((name) => name !== "")
  }
  if (value.kind !== "array") return undefined
  const names = value.items.map((item) => {
    const name = item.kind === "object" ? item.entries.find(({ key }) => key === "name")?.value : item
    return name?.kind === "string" ? name.value.trim() : undefined
  })
  return names.every((name) => name !== undefined) ? names.filter((name) => name !== "") : undefined
}

/** Whether a text still has the blanks of a template to be filled in: `{{NAME}}`. */
export const hasBlanks = (value: string): boolean => /\{\{[^{}]*\}\}/.test(value)

/** Whether a prompt still has such blanks. Their names are in capitals; anything else in braces may belong to a program. */
export const hasPromptBlanks = (prompt: string): boolean => /(?<!\$)\{\{\s*[A-Z][A-Z0-9_ -]*\}\}/.test(prompt)

/** Whether a key seems to restrict, so that it must not be passed over where it is not understood. */
export const seemsToRestrict = (key: string): boolean =>
  /permission|restrict|forbid|disallow|den(?:y|ied)|readonly|sandbox|allow|block|blacklist|whitelist/.test(wordOf(key))
  // What may be shown or loaded is no restriction of what an agent may do.
  && !/^(?:allowpromptinput|disablemodelinvocation|nonblocking|blocking|blocks|blockedby)$/.test(wordOf(key))
