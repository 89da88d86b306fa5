/** Reads commands of OpenCode and Claude Code as their owners do; an unusable one is left out. */
import { CommandConfig } from "@skein/domain/ConfigInfo"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ConfigIssue } from "../ConfigError.ts"
import { isName } from "./agentName.ts"
import { checkShape } from "./checkShape.ts"
import type { CommandContent } from "./commandFile.ts"
import { issueIn } from "./configContent.ts"
import {
  actionOf,
  entry,
  type Foreign,
  hasBlanks,
  hasPromptBlanks,
  isNothing,
  mayRestrict,
  text,
  whyLeftOut,
  type WhyNot,
  wordOf
} from "./foreign.ts"
import { readMatter } from "./foreignMatter.ts"
import { readModel } from "./foreignModel.ts"
import { asNote } from "./foreignSource.ts"
import { type Fault, type Located, type LocatedEntry, plain } from "./located.ts"
import { readLenient } from "./readText.ts"

/** Keys that are ignored without a note, because Skein has no equivalent. */
const silent = new Set(["argumenthint", "disablemodelinvocation"])

/** The place of another tool's command. */
export interface ForeignCommandSource {
  readonly file: string
  readonly name: string
  readonly foreign: Foreign
  /** The providers that its model may use. */
  readonly whyNot: WhyNot
}

const leftOut = (
  { file, name }: ForeignCommandSource,
  fault: Omit<ConfigIssue, "file" | "kind">,
  kind: ConfigIssue["kind"] = "left_out"
): CommandContent => ({
  name,
  origin: file,
  said: Either.left([{
    file,
    ...fault,
    message: `the command ${JSON.stringify(name)} is left out: ${fault.message}`,
    kind
  }]),
  warnings: []
})

/** The keys of such a command, translated to Skein's. */
const adapt = ({ foreign, whyNot }: ForeignCommandSource, written: ReadonlyArray<LocatedEntry>) => {
  const notes: Array<Fault> = []
  let refused: Fault | undefined
  const entries = written.flatMap((each): ReadonlyArray<LocatedEntry> => {
    const { at, key, value } = each
    const note = (message: string) => notes.push({ at, key, message: `${key}: ${message}` })
    const word = wordOf(key)
    const words = value.kind === "string" || value.kind === "number" ? String(plain(value)).trim() : ""
    switch (word) {
      case "template":
      case "description":
        if (words !== "") return [{ ...each, key: word, value: text(words, value.at) }]
        if (!isNothing(value)) note("this is not text")
        return []
      case "agent":
        if (foreign === "opencode" && words !== "") return [{ ...each, key: word, value: text(words, value.at) }]
        note("Skein ignores it")
        return []
      case "subtask": {
        const action = actionOf(value)
        if (foreign === "opencode" && (action === "allow" || action === "deny")) {
          return [{ ...each, key: word, value: { kind: "boolean", at: value.at, value: action === "allow" } }]
        }
        note("Skein ignores it")
        return []
      }
      case "model":
        return readModel(each, whyNot, (_, message) => note(message))
      case "allowedtools":
      case "tools":
        if (!isNothing(value)) note("a command allows nothing here; use permission in skein.json")
        return []
      default:
        if (mayRestrict(each)) {
          refused ??= { at, key, message: `${key}: ${whyLeftOut(key)}` }
        } else if (!silent.has(word)) note("Skein ignores it")
        return []
    }
  })
  return { entries, notes, refused }
}

/** A command in a config file. */
export const foreignCommandAt = (source: ForeignCommandSource, value: Located): CommandContent => {
  const { file, name } = source
  const issueAt = issueIn(file)
  if (value.kind !== "object") return leftOut(source, { ...value.at, message: "it is not an object with a template" })
  const { entries, notes, refused } = adapt(source, value.entries)
  if (refused !== undefined) return leftOut(source, issueAt(refused), "restriction")
  if (!isName(name) || hasBlanks(name)) {
    return leftOut(source, { ...value.at, message: "this is not a name for a command" })
  }
  const blank = entries.find((each) => each.value.kind === "string" && hasPromptBlanks(each.value.value))
  if (blank !== undefined) {
    return leftOut(
      source,
      issueAt({ at: blank.at, key: blank.key, message: "it is a template; fill in its placeholders" })
    )
  }
  const last = new Map(entries.map((each) => [each.key, each]))
  const tree: Located = { ...value, entries: [...last.values()] }
  const [fault] = checkShape(CommandConfig.ast, tree, ["command", name])
  return fault === undefined
    ? {
      name,
      origin: `${file}:${value.at.line}`,
      // The schema has validated it, so it has that type.
      said: Either.right(plain(tree) as CommandConfig),
      warnings: notes.map(issueAt).map(asNote)
    }
    : leftOut(source, issueAt(fault))
}

/** Reads a Markdown file, whose text is the template. */
export const readForeignCommand = Effect.fnUntraced(function*(source: ForeignCommandSource) {
  const read = yield* Effect.either(readLenient(source.file))
  if (Either.isLeft(read)) return leftOut(source, read.left)
  const matter = yield* readMatter(read.right)
  const template = matter.body.trim()
  const start = { line: 1, column: 1 }
  const at = { line: matter.line, column: 1 }
  if (template === "") return leftOut(source, { ...at, message: "there is no template" })
  const others = matter.entries.filter(({ key }) => wordOf(key) !== "template")
  const content = foreignCommandAt(source, {
    kind: "object",
    at: start,
    entries: [...others, entry("template", at, text(template, at))]
  })
  const notes = [
    ...matter.notes,
    ...matter.entries.filter((each) => !others.includes(each)).map((each) => ({
      at: each.at,
      key: each.key,
      message: "template: the text below the front matter is used"
    }))
  ]
  return {
    ...content,
    origin: source.file,
    warnings: [...notes.map(issueIn(source.file)).map(asNote), ...content.warnings]
  }
})
