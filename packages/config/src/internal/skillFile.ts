/** Reads the `SKILL.md` of one folder. */
import type { SkillInfo } from "@skein/core/Skill"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { join } from "node:path"
import type { ConfigIssue } from "../ConfigError.ts"
import { checkShape } from "./checkShape.ts"
import { issueIn } from "./configFile.ts"
import { parseFront, split } from "./frontMatter.ts"
import { type Fault, type Located, plain } from "./located.ts"
import { readText } from "./readText.ts"

/** What is said of a skill, or what is wrong with it. */
export interface SkillContent {
  readonly name: string
  readonly origin: string
  readonly said: Either.Either<Pick<SkillInfo, "description" | "text" | "folder">, ReadonlyArray<ConfigIssue>>
  /** What is said and means nothing here. */
  readonly warnings: ReadonlyArray<ConfigIssue>
}

/** The keys of such a file; those that are facts for people are read by nobody here. */
const Front = Schema.Struct({
  name: Schema.optional(
    Schema.String.pipe(
      Schema.pattern(/^[\p{L}\p{N}_][\p{L}\p{N}_.-]{0,63}$/u, {
        message: () => "letters, digits and _ . -, at most 64 of them"
      })
    )
  ),
  description: Schema.NonEmptyTrimmedString,
  license: Schema.optional(Schema.Unknown),
  compatibility: Schema.optional(Schema.Unknown),
  version: Schema.optional(Schema.Unknown),
  metadata: Schema.optional(Schema.Unknown)
})

const known = new Set(Object.keys(Front.fields))

/** Reads it; one that is written for another program may have keys that mean nothing here. */
export const readSkillFile = Effect.fnUntraced(function*(folder: string, folderName: string, isForeign: boolean) {
  const file = join(folder, "SKILL.md")
  const told = issueIn(file)
  const start = { line: 1, column: 1 }
  const failed = (...issues: ReadonlyArray<ConfigIssue>): SkillContent => ({
    name: folderName,
    origin: file,
    said: Either.left(issues),
    warnings: []
  })
  const read = yield* Effect.either(readText(file))
  if (Either.isLeft(read)) return failed({ file, ...read.left })
  const matter = split(read.right.replaceAll("\r\n", "\n"))
  if (matter === undefined) {
    return failed(told({ at: start, message: "the front matter does not end; close it with a line of ---" }))
  }
  const front = yield* Effect.either(parseFront(matter.front, isForeign))
  if (Either.isLeft(front)) return failed(told({ at: start, message: front.left }))
  const { faults, tree } = front.right
  if (faults.length > 0) return failed(...faults.map(told))
  const written: ReadonlyArray<Fault> = tree.kind === "object"
    ? tree.entries.filter(({ key }) => !known.has(key) && (isForeign || key === "allowed-tools")).map((
      { at, key }
    ) => ({
      at,
      key,
      message: key === "allowed-tools"
        ? "allowed-tools: a skill allows nothing here; use permission in skein.json"
        : `${key}: Skein has no use for it`
    }))
    : []
  const left: Located = tree.kind === "object"
    ? { ...tree, entries: tree.entries.filter(({ at }) => !written.some((each) => each.at === at)) }
    : tree
  const wrong = checkShape(Front.ast, left, ["skill"])
  if (wrong.length > 0) return failed(...wrong.map(told))
  const text = matter.body.trim()
  if (text === "") {
    return failed(
      told({ at: { line: matter.lines + 1, column: 1 }, message: "there is no text below the front matter" })
    )
  }
  // What was held against the schema is of its type.
  const { description, name = folderName } = plain(left) as typeof Front.Type
  return {
    name,
    origin: file,
    said: Either.right({ description, text, folder }),
    warnings: written.map(told)
  } satisfies SkillContent
})
