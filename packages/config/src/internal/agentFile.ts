/** Reads an agent file of Skein: converts front matter and prompt to the same tree as `agent.NAME` in skein.json. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ConfigIssue } from "../ConfigError.ts"
import { isAgentName, namesForAgents } from "./agentName.ts"
import { type ConfigContent, onlyIssues } from "./configContent.ts"
import { settleContent } from "./configFile.ts"
import { readFront } from "./frontMatter.ts"
import type { Fault, Located, LocatedEntry, Place } from "./located.ts"
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
  const start = { line: 1, column: 1 }
  const front = yield* Effect.either(readFront(source.path))
  if (Either.isLeft(front)) return failed(...front.left)
  const { above, body, lines, tree } = front.right
  if (body === "" && lines === 0) {
    return failed({ file: source.path, message: "this is empty; write front matter, a prompt, or both" })
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
  if (prompt !== undefined && body !== "") {
    wrong.push({
      at: prompt.at,
      key: "prompt",
      message: "the text below the front matter is the prompt; keep one of them"
    })
  }
  const at = { line: lines + above, column: 1 }
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
