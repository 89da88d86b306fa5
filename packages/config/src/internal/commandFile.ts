/** Reads a command file of Skein: front matter and template. */
import { CommandConfig } from "@skein/domain/ConfigInfo"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ConfigIssue } from "../ConfigError.ts"
import { isName, namesForOthers } from "./agentName.ts"
import { checkShape } from "./checkShape.ts"
import { issueIn } from "./configContent.ts"
import { parseFront, split } from "./frontMatter.ts"
import { type Fault, type Located, plain } from "./located.ts"
import { readText } from "./readText.ts"

/** The content of a command, or its faults. */
export interface CommandContent {
  readonly name: string
  /** Its place, as `file` or `file:line`. */
  readonly origin: string
  readonly said: Either.Either<CommandConfig, ReadonlyArray<ConfigIssue>>
  /** Ignored content. */
  readonly warnings: ReadonlyArray<ConfigIssue>
}

/** A command of Skein in a config file. */
const commandAt = (file: string, name: string, value: Located): CommandContent => {
  const faults: ReadonlyArray<Fault> = isName(name)
    ? checkShape(CommandConfig.ast, value, ["command", name])
    : [{ at: value.at, message: `${JSON.stringify(name)} is not a valid command name; ${namesForOthers}` }]
  return {
    name,
    origin: file,
    // The schema has validated it, so it has that type.
    said: faults.length > 0 ? Either.left(faults.map(issueIn(file))) : Either.right(plain(value) as CommandConfig),
    warnings: []
  }
}

/** Reads a Markdown file, whose text is the template. */
export const readCommandFile = Effect.fnUntraced(function*(file: string, name: string) {
  const failed = (...issues: ReadonlyArray<ConfigIssue>): CommandContent => ({
    name,
    origin: file,
    said: Either.left(issues),
    warnings: []
  })
  const start = { line: 1, column: 1 }
  const issueAt = issueIn(file)
  const read = yield* Effect.either(readText(file))
  if (Either.isLeft(read)) return failed({ file, ...read.left })
  const matter = split(read.right.replaceAll("\r\n", "\n"))
  if (matter === undefined) {
    return failed(issueAt({ at: start, message: "the front matter does not end; close it with a line of ---" }))
  }
  const front = yield* Effect.either(parseFront(matter.front))
  if (Either.isLeft(front)) return failed(issueAt({ at: start, message: front.left }))
  const { faults, tree } = front.right
  if (faults.length > 0) return failed(...faults.map(issueAt))
  if (tree.kind !== "object") {
    return failed(
      issueAt({ at: tree.at, message: "the front matter must be keys with values, such as description: text" })
    )
  }
  const template = matter.body.trim()
  const at = { line: matter.lines + 1, column: 1 }
  if (template === "") {
    return failed(issueAt({ at, message: "there is no template; write the prompt below the front matter" }))
  }
  const second = tree.entries.find(({ key }) => key === "template")
  if (second !== undefined) {
    return failed(
      issueAt({
        at: second.at,
        key: "template",
        message: "the text below the front matter is the template; keep one of them"
      })
    )
  }
  const entries = [{ key: "template", at, value: { kind: "string" as const, at, value: template } }, ...tree.entries]
  return commandAt(file, name, { kind: "object", at: start, entries })
})
