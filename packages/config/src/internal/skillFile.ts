/** Reads the `SKILL.md` of one folder. */
import type { SkillInfo } from "@skein/core/Instructions"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { join } from "node:path"
import type { ConfigIssue } from "../ConfigError.ts"
import { isName, namesForOthers } from "./agentFiles.ts"
import { checkShape } from "./checkShape.ts"
import { issueIn } from "./configContent.ts"
import { type Definition, failed, leftOut } from "./definition.ts"
import {
  actionOf,
  asNote,
  hasBlanks,
  isNothing,
  mayRestrict,
  readMatter,
  text as asText,
  whyLeftOut,
  wordOf
} from "./foreign.ts"
import { readFront } from "./frontMatter.ts"
import { type Fault, type LocatedEntry, plain, start } from "./located.ts"
import { readLenient } from "./readText.ts"

/** The content of a skill, or its faults. */
export type SkillContent = Definition<Pick<SkillInfo, "description" | "text" | "folder">>

/** The keys of such a file; informative ones for people are ignored. */
const Front = Schema.Struct({
  name: Schema.optional(
    Schema.String.pipe(Schema.filter(isName, { message: () => namesForOthers.replace("use ", "") }))
  ),
  description: Schema.NonEmptyString,
  license: Schema.optional(Schema.Unknown),
  compatibility: Schema.optional(Schema.Unknown),
  version: Schema.optional(Schema.Unknown),
  metadata: Schema.optional(Schema.Unknown)
})

const known = new Set(Object.keys(Front.fields))

const trimmed = (each: LocatedEntry): LocatedEntry =>
  each.value.kind === "string" ? { ...each, value: { ...each.value, value: each.value.value.trim() } } : each

/** Reads a skill of Skein. */
export const readSkillFile = Effect.fnUntraced(function*(folder: string, folderName: string) {
  const file = join(folder, "SKILL.md")
  const issueAt = issueIn(file)
  const front = yield* Effect.either(readFront(file))
  if (Either.isLeft(front)) return failed(folderName, file, front.left)
  const { body: text, lines, tree } = front.right
  const written = tree.entries.filter(({ key }) => key === "allowed-tools")
  const left = { ...tree, entries: tree.entries.filter((each) => !written.includes(each)).map(trimmed) }
  const wrong = checkShape(Front.ast, left, ["skill"])
  if (wrong.length > 0) return failed(folderName, file, wrong.map(issueAt))
  if (text === "") {
    const at = { line: lines + 1, column: 1 }
    return failed(folderName, file, [issueAt({ at, message: "there is no text below the front matter" })])
  }
  // The schema has validated it, so it has that type.
  const { description, name = folderName } = plain(left) as typeof Front.Type
  return {
    name,
    origin: file,
    said: Either.right({ description, text, folder }),
    warnings: written.map(({ at, key }) => issueAt({ at, key, message: grantsNothing(key) }))
  } satisfies SkillContent
})

const grantsNothing = (key: string): string => `${key}: a skill allows nothing here; use permission in skein.json`

/** Keys of other tools that are ignored without a note, because Skein has no equivalent. */
const silent = new Set([
  "author",
  "tags",
  "category",
  "keywords",
  "argumenthint",
  "userinvocable"
])

const onlyPeople = "disablemodelinvocation"

/** The key that keeps a skill from the model, or that may do so: Claude Code has one, and OpenCode another. */
const forPeople = (each: LocatedEntry): LocatedEntry | undefined => {
  const { key, value } = each
  if (wordOf(key) === onlyPeople) {
    return isNothing(value) || actionOf(value) === "deny" || plain(value) === 0
      ? undefined
      : each
  }
  return key === "metadata" && value.kind === "object"
    ? value.entries.find((inner) => inner.key === "opencode/autoinvoke" && actionOf(inner.value) !== "allow")
    : undefined
}

/** The first paragraph of a text that is not a heading. */
const firstParagraph = (text: string): string =>
  text.split(/\n[ \t]*\n/).map((part) => part.replaceAll(/^\s*#.*$/gm, "").trim().replaceAll(/\s+/g, " "))
    .find((part) => part !== "")?.slice(0, 1024) ?? ""

/** Reads another tool's skill as that tool does; an unusable one is left out. */
export const readForeignSkill = Effect.fnUntraced(function*(folder: string, folderName: string) {
  const file = join(folder, "SKILL.md")
  const issueAt = issueIn(file)
  const refuse = (message: string, kind: NonNullable<ConfigIssue["kind"]> = "left_out", at: Fault["at"] = start) =>
    leftOut("skill", { file, name: folderName }, { ...at, message }, kind)
  const read = yield* Effect.either(readLenient(file))
  if (Either.isLeft(read)) return refuse(read.left.message)
  const matter = yield* readMatter(read.right)
  const notes: Array<Fault> = [...matter.notes]
  const words = new Map<string, string>()
  for (const each of matter.entries) {
    const { at, key, value } = each
    const word = wordOf(key)
    const person = forPeople(each)
    if (person !== undefined) {
      return refuse(
        `${person.key}: the model must not use it; as a command in .skein/command, people can`,
        "left_out",
        person.at
      )
    }
    if ((word === "name" || word === "description") && (value.kind === "string" || value.kind === "number")) {
      words.set(word, String(plain(asText(String(plain(value)).trim(), at))))
    } else if (word === "allowedtools" || word === "tools") {
      if (!isNothing(value)) notes.push({ at, key, message: grantsNothing(key) })
    } else if (mayRestrict(each)) {
      return refuse(`${key}: ${whyLeftOut(key)}`, "restriction", at)
    } else if (!known.has(key) && !silent.has(word) && word !== onlyPeople) {
      notes.push({ at, key, message: `${key}: Skein ignores it` })
    }
  }
  const name = words.get("name") || folderName
  const text = matter.body.trim()
  if (text === "") return refuse("there is no text below the front matter")
  const description = words.get("description") || firstParagraph(text)
  if (hasBlanks(name) || hasBlanks(words.get("description") ?? "")) {
    return refuse("it is a template; fill in its placeholders")
  }
  if (description === "") return refuse("it has neither a description nor a paragraph")
  const called = isName(name) ? name : folderName
  if (called !== name) {
    notes.push({ at: start, key: "name", message: `name: it is called ${JSON.stringify(called)} here` })
  }
  return {
    name: called,
    origin: file,
    said: Either.right({ description, text, folder }),
    warnings: notes.map(issueAt).map(asNote)
  } satisfies SkillContent
})
