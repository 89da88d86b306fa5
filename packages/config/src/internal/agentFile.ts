/** Reads an agent file of Skein: converts front matter and prompt to the same tree as `agent.NAME` in skein.json. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ConfigIssue } from "../ConfigError.ts"
import { isAgentName, namesForAgents } from "./agentName.ts"
import { type ConfigContent, issueIn, onlyIssues } from "./configContent.ts"
import { settleContent } from "./configFile.ts"
import { parseFront, split } from "./frontMatter.ts"
import type { Fault, Located, LocatedEntry, Place } from "./located.ts"
import { readText } from "./readText.ts"
import { type ConfigSource, substitute } from "./substitute.ts"

/** A file of an agent. */
export interface AgentSource extends ConfigSource {
  /** The agent's name, unless the front matter has one. */
  readonly name: string
}

/** The content of such a file, and its agent. */
export interface AgentContent extends ConfigContent {
  readonly name: string
}

/** Reads a file and reports all its faults. */
export const readAgentFile = Effect.fnUntraced(function*(source: AgentSource) {
  const failed = (...issues: ReadonlyArray<ConfigIssue>): AgentContent => ({
    ...onlyIssues(source.path, issues),
    name: source.name
  })
  const issueAt = issueIn(source.path)
  const start = { line: 1, column: 1 }
  const read = yield* Effect.either(readText(source.path))
  if (Either.isLeft(read)) return failed({ file: source.path, ...read.left })
  const whole = read.right.replaceAll("\r\n", "\n")
  if (whole.trim() === "") {
    return failed({ file: source.path, message: "this is empty; write front matter, a prompt, or both" })
  }
  const matter = split(whole)
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

  const wrong: Array<Fault> = []
  const named = tree.entries.find(({ key }) => key === "name")
  if (named !== undefined && named.value.kind !== "string") {
    wrong.push({ at: named.value.at, key: "name", message: "name must be a string" })
  }
  const name = named?.value.kind === "string" ? named.value.value : source.name
  if (!isAgentName(name)) {
    wrong.push({
      at: named?.at ?? start,
      key: "name",
      message: `${JSON.stringify(name)} is not a valid agent name; ${namesForAgents}`
    })
  }
  const entries = tree.entries.filter(({ key }) => key !== "name")
  const prompt = entries.find(({ key }) => key === "prompt")
  const body = matter.body.trim()
  if (prompt !== undefined && body !== "") {
    wrong.push({
      at: prompt.at,
      key: "prompt",
      message: "the text below the front matter is the prompt; keep one of them"
    })
  }
  const line = matter.lines + 1 + (/^\s*\n/.exec(matter.body)?.[0].split("\n").length ?? 1) - 1
  const at = { line, column: 1 }
  const said: ReadonlyArray<LocatedEntry> = body === ""
    ? entries
    : [{ key: "prompt", at, value: { kind: "string", at, value: body } }, ...entries]
  const filled = yield* substitute(agentTree(name, said, start), source)
  const content = settleContent({ ...filled, faults: [...wrong, ...filled.faults] }, source.path)
  return { ...content, name } satisfies AgentContent
})

/** The config document for this agent. */
export const agentTree = (name: string, entries: ReadonlyArray<LocatedEntry>, at: Place): Located =>
  under("agent", under(name, { kind: "object", at, entries }))

const under = (key: string, value: Located): Located => ({
  kind: "object",
  at: value.at,
  entries: [{ key, at: value.at, value }]
})
