/** Reads a command file of Skein: front matter and template. */
import { CommandConfig } from "@skein/domain/ConfigInfo"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ConfigIssue } from "../ConfigError.ts"
import { isName, namesForOthers } from "./agentName.ts"
import { checkShape } from "./checkShape.ts"
import { issueIn } from "./configContent.ts"
import { readFront } from "./frontMatter.ts"
import { type Fault, type Located, plain } from "./located.ts"

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
  const front = yield* Effect.either(readFront(file))
  if (Either.isLeft(front)) return failed(...front.left)
  const { body: template, lines, tree } = front.right
  const at = { line: lines + 1, column: 1 }
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
