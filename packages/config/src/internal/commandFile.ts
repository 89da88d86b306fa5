/** Reads what one file says of a command: front matter and template, or an entry of a JSON file. */
import { CommandConfig } from "@skein/domain/ConfigInfo"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ConfigIssue } from "../ConfigError.ts"
import { checkShape } from "./checkShape.ts"
import { issueIn } from "./configFile.ts"
import type { Foreign } from "./foreignAgent.ts"
import { parseFront, split } from "./frontMatter.ts"
import { type Fault, type Located, type LocatedEntry, plain } from "./located.ts"
import { readText } from "./readText.ts"

/** What is said of a command, or what is wrong with it. */
export interface CommandContent {
  readonly name: string
  /** Where it is written, as `file` or `file:line`. */
  readonly origin: string
  readonly said: Either.Either<CommandConfig, ReadonlyArray<ConfigIssue>>
  /** What is said and means nothing here. */
  readonly warnings: ReadonlyArray<ConfigIssue>
}

/** Keys of other programs that say nothing that Skein could do. */
const noUse: Readonly<Record<Foreign, ReadonlySet<string>>> = {
  claude: new Set(["argument-hint", "disable-model-invocation"]),
  opencode: new Set()
}

/** Keys that say the same there as here. */
const shared: Readonly<Record<Foreign, ReadonlySet<string>>> = {
  claude: new Set(["template", "description", "model"]),
  opencode: new Set(Object.keys(CommandConfig.fields))
}

/** The keys of another program as ours. What means nothing here is noted: it is no mistake, since it is written for that one. */
const adapt = (from: Foreign, written: ReadonlyArray<LocatedEntry>) => {
  const notes: Array<Fault> = []
  const entries = written.filter(({ at, key, value }) => {
    const isOurs = shared[from].has(key)
    const isModel = key === "model" && value.kind === "string" && !value.value.includes("/")
    if (isOurs && !isModel) return true
    if (isModel && value.value === "inherit") return false
    if (!noUse[from].has(key)) {
      const why = isModel
        ? `which provider has ${JSON.stringify(value.value)} is not known, so that the model of the session is used`
        : key === "allowed-tools"
        ? "a command allows nothing here; use permission in skein.json"
        : "Skein has no use for it"
      notes.push({ at, key, message: `${key}: ${why}` })
    }
    return false
  })
  return { entries, notes }
}

/** A command that is written at a place of a file. */
export const commandAt = (file: string, name: string, value: Located, from?: Foreign): CommandContent => {
  const origin = `${file}:${value.at.line}`
  const adapted = from === undefined || value.kind !== "object"
    ? { tree: value, notes: [] }
    : (({ entries, notes }) => ({ tree: { ...value, entries }, notes }))(adapt(from, value.entries))
  const faults: ReadonlyArray<Fault> = isName(name)
    ? checkShape(CommandConfig.ast, adapted.tree, ["command", name])
    : [{ at: value.at, message: `${JSON.stringify(name)} is no name for a command; use letters, digits and _ . / -` }]
  return {
    name,
    origin,
    // What was held against the schema is of its type.
    said: faults.length > 0
      ? Either.left(faults.map(issueIn(file)))
      : Either.right(plain(adapted.tree) as CommandConfig),
    warnings: adapted.notes.map(issueIn(file))
  }
}

const isName = (name: string): boolean => /^[\p{L}\p{N}_][\p{L}\p{N}_./-]*$/u.test(name)

/** Reads a Markdown file, whose text is the template. */
export const readCommandFile = Effect.fnUntraced(function*(file: string, name: string, from?: Foreign) {
  const failed = (...issues: ReadonlyArray<ConfigIssue>): CommandContent => ({
    name,
    origin: file,
    said: Either.left(issues),
    warnings: []
  })
  const start = { line: 1, column: 1 }
  const told = issueIn(file)
  const read = yield* Effect.either(readText(file))
  if (Either.isLeft(read)) return failed({ file, ...read.left })
  const matter = split(read.right.replaceAll("\r\n", "\n"))
  if (matter === undefined) {
    return failed(told({ at: start, message: "the front matter does not end; close it with a line of ---" }))
  }
  const front = yield* Effect.either(parseFront(matter.front, from !== undefined))
  if (Either.isLeft(front)) return failed(told({ at: start, message: front.left }))
  const { faults, tree } = front.right
  if (faults.length > 0) return failed(...faults.map(told))
  if (tree.kind !== "object") {
    return failed(
      told({ at: tree.at, message: "the front matter must be keys with values, such as description: text" })
    )
  }
  const template = matter.body.trim()
  const at = { line: matter.lines + 1, column: 1 }
  if (template === "") {
    return failed(told({ at, message: "there is no template; write below the front matter what is to be prompted" }))
  }
  const second = tree.entries.find(({ key }) => key === "template")
  if (second !== undefined) {
    return failed(
      told({
        at: second.at,
        key: "template",
        message: "the text below the front matter is the template; keep one of them"
      })
    )
  }
  const entries = [{ key: "template", at, value: { kind: "string" as const, at, value: template } }, ...tree.entries]
  return { ...commandAt(file, name, { kind: "object", at: start, entries }, from), origin: file }
})
