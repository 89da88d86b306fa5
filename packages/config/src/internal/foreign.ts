/** Shared types and parsers for files of other tools. */
import { type Fault, type Located, type LocatedEntry, type Place, plain } from "./located.ts"

/** Another tool whose files are read. */
export type Foreign = "opencode" | "claude"

/** Why the models of a provider cannot be used here, as text to follow a name; undefined if they can. */
export type WhyNot = (providerID: string) => string | undefined

/** The usable part of another tool's file. */
export interface Adapted {
  readonly entries: ReadonlyArray<LocatedEntry>
  /** Ignored content. */
  readonly notes: ReadonlyArray<Fault>
  /** An unreadable restriction: what it restricts must not be used without it. */
  readonly refused?: Fault
}

/** An entry that was derived instead of written. */
export const entry = (key: string, at: Place, value: Located): LocatedEntry => ({ key, at, value })

/** A text that was derived instead of written. */
export const text = (value: string, at: Place): Located => ({ kind: "string", at, value })

/** A derived list. */
export const texts = (values: ReadonlyArray<string>, at: Place): Located => ({
  kind: "array",
  at,
  items: values.map((value) => text(value, at))
})

/** A derived rule. */
export const rule = (permission: string, pattern: string, action: Action, at: Place): Located => ({
  kind: "object",
  at,
  entries: Object.entries({ permission, pattern, action }).map(([key, value]) => entry(key, at, text(value, at)))
})

/** The effect of a restriction for all agents that is not understood, as text to follow its key. */
export const deniesAll =
  "this restriction is not understood, so every call is denied; write it as permission in skein.json, and remove it here"

/** The actions of a rule. */
export type Action = "allow" | "ask" | "deny"

const actions: ReadonlyMap<string, Action> = new Map([
  ...["allow", "allowed", "yes", "on", "true", "enabled"].map((word) => [word, "allow"] as const),
  ...["ask", "confirm", "prompt"].map((word) => [word, "ask"] as const),
  ...["deny", "denied", "no", "off", "false", "disabled", "none", "never", "block", "forbid"].map((word) =>
    [word, "deny"] as const
  )
])

/** The action for a value, informal words included. */
export const actionOf = (value: Located): Action | undefined =>
  value.kind === "string" || value.kind === "boolean" ? actions.get(wordOf(value)) : undefined

/** A value as one lower-case word in any spelling: `read-only`, `readOnly` and `Read Only` are the same. */
export const wordOf = (value: Located | string): string =>
  String(typeof value === "string" ? value : plain(value)).toLowerCase().replaceAll(/[-_\s]/g, "")

/** Whether a value is empty: a key without a value, or with an empty list or text. */
export const isNothing = (value: Located): boolean =>
  value.kind === "null"
  || (value.kind === "string" && value.value.trim() === "")
  || (value.kind === "array" && value.items.length === 0)
  || (value.kind === "object" && value.entries.length === 0)

/**
 * Names in a list, or in a text with commas between them; undefined for anything else. Commas in parentheses belong to
 * a name.
 */
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

/** Whether a text still has unfilled placeholders of a template: `{{NAME}}`. */
export const hasBlanks = (value: string): boolean => /\{\{[^{}]*\}\}/.test(value)

/**
 * Whether a prompt still has such placeholders. Their names are in capitals; anything else in braces may belong to a
 * program.
 */
export const hasPromptBlanks = (prompt: string): boolean => /(?<!\$)\{\{\s*[A-Z][A-Z0-9_ -]*\}\}/.test(prompt)

/** Whether a key seems to restrict, so that it must not be ignored if it is not understood. */
export const seemsToRestrict = (key: string): boolean =>
  /permission|restrict|forbid|disallow|den(?:y|ied)|readonly|sandbox|allow|block|blacklist|whitelist/.test(wordOf(key))
  // Keys for display or loading do not restrict what an agent may do.
  && !/^(?:allowpromptinput|disablemodelinvocation|nonblocking|blocking|blocks|blockedby)$/.test(wordOf(key))

/** Why something with such a key is left out, as text to follow the key. */
export const whyLeftOut = (key: string): string =>
  wordOf(key) === "hooks"
    ? "these hooks can block calls, and Skein runs only those in settings; move them there"
    : "this restriction is not understood"

/** Events of Claude Code whose hooks can only observe. */
const watching =
  /^(?:PostToolUse|PostToolUseFailure|Notification|Session(?:Start|End)|SubagentStart|(?:Pre|Post)Compact)$/

/**
 * Whether an unknown key of an agent, a command or a skill may restrict what the model does. Hooks do, if they can
 * block: Skein runs no hooks of a single agent, command or skill.
 */
export const mayRestrict = ({ key, value }: LocatedEntry): boolean =>
  !isNothing(value) && (wordOf(key) === "hooks"
    ? value.kind !== "object" || value.entries.some((each) => !isNothing(each.value) && !watching.test(each.key))
    : seemsToRestrict(key) && actionOf(value) !== "deny")
