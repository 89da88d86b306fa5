/**
 * Reads files of other tools as their owners do: JSON with comments and repeated keys, front matter that is no valid
 * YAML, and names of models.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ConfigIssue } from "../ConfigError.ts"
import { type ConfigContent, issueIn, onlyIssues } from "./configContent.ts"
import { settleContent } from "./configFile.ts"
import {
  type Fault,
  type Located,
  type LocatedEntry,
  type LocatedObject,
  parseLenient,
  type Place,
  plain,
  start
} from "./located.ts"
import type { parseYaml } from "./locatedYaml.ts"
import { readLenient } from "./readText.ts"

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

/** A remark on another tool's file, unless it already has a kind. */
export const asNote = (issue: ConfigIssue): ConfigIssue => ({ kind: "note", ...issue })

/** What a restricting file contains somewhere, in either tool's terms. */
const restricts = /permission|sandbox|"(?:deny\w*|ask|hooks|tools|disallowed\w*|skillOverrides)"/i

/** A rule that denies every call. */
const denying = (path: string): ConfigContent =>
  settleContent(
    {
      tree: { kind: "object", at: start, entries: [entry("permission", start, text("deny", start))] },
      faults: [],
      refused: []
    },
    path
  )

/** The document in such a file, or its replacement if it is unreadable: unreadable rules must not be dropped. */
export const parseForeign = Effect.fnUntraced(function*(path: string) {
  const read = yield* Effect.either(readLenient(path))
  const isDoubtful = Either.isLeft(read) || restricts.test(read.right)
  const without = (issue: Omit<ConfigIssue, "file">): { readonly content: ConfigContent } => ({
    content: {
      ...(isDoubtful ? denying(path) : onlyIssues(path, [])),
      warnings: [{
        file: path,
        ...issue,
        message: isDoubtful
          ? `this file cannot be read: ${issue.message}; it may hold rules, so every call is denied until you fix it`
          : `this file is left out: ${issue.message}`,
        kind: "restriction"
      }]
    }
  })
  if (Either.isLeft(read)) return without(read.left)
  const parsed = yield* Effect.either(Effect.try({
    try: () => parseLenient(read.right),
    catch: () => ({ message: "it is nested too deeply" })
  }))
  if (Either.isLeft(parsed)) return without(parsed.left)
  const { fatal, notes, tree } = parsed.right
  if (fatal !== undefined) return without(issueIn(path)(fatal))
  if (tree.kind === "object") return { tree, notes } satisfies { tree: LocatedObject; notes: ReadonlyArray<Fault> }
  return without({ ...tree.at, message: "it must be an object" })
})

/** The two parts of such a file. */
interface ForeignMatter {
  readonly entries: ReadonlyArray<LocatedEntry>
  readonly hasFront: boolean
  readonly body: string
  /** The first line of the body. */
  readonly line: number
  readonly notes: ReadonlyArray<Fault>
}

interface Parts {
  readonly front: string
  readonly body: string
  /** The number of lines above the front matter, and above the body. */
  readonly above: number
  readonly lines: number
  readonly isOpen: boolean
}

const countLines = (part: string): number => part.split("\n").length - 1

/** Front matter ends with its second line of `---`; if there is none, before the first empty line or heading. */
const split = (whole: string): Parts | undefined => {
  const open = /^\s*---[ \t]*(?:\n|$)/.exec(whole)?.[0]
  if (open === undefined) return undefined
  const rest = whole.slice(open.length)
  const close = /^---[ \t]*(?:\n|$)/m.exec(rest)
  const end = close ?? /^(?:[ \t]*\n|#)/m.exec(rest)
  const front = end === null ? rest : rest.slice(0, end.index)
  const body = end === null ? "" : close === null ? rest.slice(end.index) : rest.slice(end.index + end[0].length)
  return {
    front,
    body,
    above: countLines(open),
    lines: countLines(whole.slice(0, whole.length - body.length)),
    isOpen: close === null
  }
}

/** Reads such a file. */
export const readMatter = (whole: string): Effect.Effect<ForeignMatter> => {
  const parts = split(whole)
  if (parts === undefined) return Effect.succeed({ entries: [], hasFront: false, body: whole, line: 1, notes: [] })
  const { above, body, front, isOpen, lines } = parts
  const note: ReadonlyArray<Fault> = isOpen
    ? [{ at: start, message: "the front matter does not end with a line of ---; what looks like it was read" }]
    : []
  const base = { hasFront: true, body, line: lines + 1 }
  if (front.trim() === "") return Effect.succeed({ ...base, entries: [], notes: note })
  return Effect.map(Effect.promise(() => import("./locatedYaml.ts")), ({ parseYaml }) => {
    const parse = guarded(parseYaml)
    const { faults, tree } = parse(front, above)
    if (faults.length === 0 && tree.kind === "object") return { ...base, entries: tree.entries, notes: note }
    return { ...base, entries: byLines(front, above, parse), notes: note }
  })
}

type Parse = typeof parseYaml

/** Treats a document that is nested too deeply for the parser as invalid. */
const guarded = (parse: Parse): Parse => (document, above) =>
  Either.getOrElse(Either.try(() => parse(document, above)), () => ({
    tree: { kind: "null", at: start, value: null },
    faults: [{ at: start, message: "the front matter is nested too deeply" }]
  }))

/**
 * Reads keys line by line: a line `key: value` at the margin starts a key, and everything else continues the previous
 * one. Each value is read as YAML if possible, else as text. All values of a repeated key are kept, for the reader to
 * choose.
 */
const byLines = (front: string, above: number, parse: Parse): ReadonlyArray<LocatedEntry> => {
  const blocks: Array<{ readonly key: string; readonly line: number; readonly lines: Array<string> }> = []
  for (const [index, line] of front.replace(/\n$/, "").split("\n").entries()) {
    const [, key] = /^(["']?[\p{L}_$][\p{L}\p{N}_ .$/-]{0,60}["']?)[ \t]*:(?=\s|$)/u.exec(line) ?? []
    const last = blocks.at(-1)
    if (key !== undefined) {
      blocks.push({ key: key.replaceAll(/["']/g, "").trim(), line: above + index + 1, lines: [line] })
    } else if (last !== undefined && !line.startsWith("#")) last.lines.push(line)
  }
  return blocks.map(({ key, line, lines }): LocatedEntry => {
    const at = { line, column: 1 }
    for (const written of [lines.join("\n"), lines.join("\n").replaceAll("\t", "  ")]) {
      const { faults, tree } = parse(written, line - 1)
      const only = faults.length === 0 && tree.kind === "object" && tree.entries.length === 1
        ? tree.entries[0]
        : undefined
      if (only !== undefined) return { ...only, key }
    }
    return { key, at, value: asText(lines, at) }
  })
}

/** The value of a key as text, without quotes around it and without a block indicator. */
const asText = (lines: ReadonlyArray<string>, at: Located["at"]): Located => {
  const [first = "", ...rest] = lines
  const head = first.slice(first.indexOf(":") + 1).trim().replace(/^[>|][+-]?$/, "")
  const value = [...(head === "" ? [] : [head]), ...rest.map((line) => line.trim())].join("\n").trim()
  return text(value.replace(/^(["'])([^]*)\1$/, "$2"), at)
}

/** Names of model sizes: a model of that size from the vendor of the session's model. */
const sizes: ReadonlyArray<readonly [RegExp, string]> = [
  [/(?:^|[^a-z])haiku(?:[^a-z]|$)/i, "session/small"],
  [/(?:^|[^a-z])sonnet(?:[^a-z]|$)/i, "session/default"],
  [/(?:^|[^a-z])opus(?:[^a-z]|$)/i, "session/large"]
]

/** A model and its variant, which OpenCode writes as `provider/model#variant`, or with a key for each part. */
export const selectionOf = (value: Located): { readonly model: Located; readonly variant?: Located } => {
  if (value.kind === "string") {
    const [, name, variant] = /^([^#]*\/[^#]*)#([^#]+)$/.exec(value.value) ?? []
    return name === undefined || variant === undefined
      ? { model: value }
      : { model: { ...value, value: name }, variant: text(variant, value.at) }
  }
  if (value.kind !== "object") return { model: value }
  const part = (key: string) => value.entries.find((each) => each.key === key)?.value
  const [provider, name, variant] = [part("providerID"), part("model"), part("variant")]
  return provider?.kind !== "string" || name?.kind !== "string"
    ? { model: value }
    : {
      model: text(`${provider.value}/${name.value}`, value.at),
      ...(variant?.kind === "string" ? { variant } : {})
    }
}

/**
 * Reads such a model as a preference: if its provider cannot be used here, that is noted, and the session's model is
 * used.
 */
export const readModel = (
  each: LocatedEntry,
  whyNot: WhyNot,
  note: (at: Place, message: string) => void
): ReadonlyArray<LocatedEntry> => {
  const { at } = each
  const value = selectionOf(each.value).model
  if (value.kind === "null") return []
  if (value.kind !== "string") {
    note(at, "this is not a model name, so the model of the session is used")
    return []
  }
  const name = value.value.trim()
  if (name === "" || /^(?:inherit|default|auto|best)$/i.test(name)) return []
  const [provider = "", ...rest] = name.split("/")
  const isWhole = rest.length > 0 && rest.join("/") !== "" && !/[\s{}]/.test(name)
  const why = isWhole ? whyNot(provider) : undefined
  if (isWhole && why === undefined) return [{ ...each, value: { ...value, value: name } }]
  const size = sizes.find(([pattern]) => pattern.test(name))?.[1]
  if (size !== undefined) return [{ ...each, value: text(size, value.at) }]
  note(
    at,
    `${JSON.stringify(value.raw ?? name)} cannot be used here${
      why === undefined || value.raw !== undefined ? "" : `, because ${why}`
    }; the model of the session is used, and agent.NAME.model in skein.json can choose one`
  )
  return []
}
