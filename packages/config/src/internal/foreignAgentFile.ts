/** Reads an agent file of OpenCode or Claude Code as its owner does; an unusable one is left out. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ConfigIssue } from "../ConfigError.ts"
import { type AgentContent, type AgentSource, agentTree } from "./agentFile.ts"
import { asAgentName } from "./agentName.ts"
import { issueIn, onlyIssues } from "./configContent.ts"
import { settleContent } from "./configFile.ts"
import { entry, type Foreign, hasBlanks, text, type WhyNot } from "./foreign.ts"
import { adapt } from "./foreignAgent.ts"
import { readMatter } from "./foreignMatter.ts"
import { type Fault, plain } from "./located.ts"
import { readLenient } from "./readText.ts"

/** An agent file of another tool. */
export interface ForeignAgentSource extends AgentSource {
  readonly foreign: Foreign
  /** Whether it is a primary agent by default. */
  readonly isPrimary?: true
  /** The providers that its models may use. */
  readonly whyNot: WhyNot
}

/** The content of such a file; `isAgent` says whether its owner treats it as an agent. */
export interface ForeignAgentContent extends AgentContent {
  readonly isAgent: boolean
}

/** Reads a file. Issues say why it cannot be used; warnings list ignored content. */
export const readForeignAgent = Effect.fnUntraced(function*(source: ForeignAgentSource) {
  const { foreign, path, whyNot } = source
  const issueAt = issueIn(path)
  const start = { line: 1, column: 1 }
  const left = (
    kind: NonNullable<ConfigIssue["kind"]>,
    fault: Omit<ConfigIssue, "file" | "kind">,
    name = source.name
  ) =>
    ({
      ...onlyIssues(path, [{ file: path, ...fault, kind }]),
      name: asAgentName(name),
      isAgent: kind !== "note"
    }) satisfies ForeignAgentContent
  const read = yield* Effect.either(readLenient(path))
  if (Either.isLeft(read)) {
    return left("left_out", { ...read.left, message: `this agent is left out: ${read.left.message}` })
  }
  const matter = yield* readMatter(read.right)
  const body = matter.body.trim()
  if (!matter.hasFront && (foreign === "claude" || body === "")) {
    return left("note", { ...start, message: "this is not an agent: it has no front matter" })
  }
  const adapted = adapt(foreign, matter.entries, whyNot)
  const named = adapted.entries.find(({ key }) => key === "name")
  const written = named === undefined ? source.name : String(plain(named.value))
  const name = asAgentName(written)
  if (hasBlanks(written) || name === "") {
    return left("left_out", {
      ...start,
      key: "name",
      message: "this agent is left out: it is a template; fill in its name"
    }, source.name)
  }
  if (adapted.refused !== undefined) {
    const { message, ...refused } = issueAt(adapted.refused)
    return {
      ...left(
        "restriction",
        { ...refused, message: `the agent ${JSON.stringify(name)} is left out: ${message}` },
        name
      ),
      warnings: [...matter.notes, ...adapted.notes].map(issueAt).map(asNote)
    }
  }
  const notes: Array<Fault> = [...matter.notes, ...adapted.notes]
  if (name !== written.trim()) {
    notes.push({ at: start, key: "name", message: `name: it is called ${JSON.stringify(name)} here` })
  }
  const prompt = adapted.entries.find(({ key }) => key === "prompt")
  if (prompt !== undefined && body !== "") {
    notes.push({ at: prompt.at, key: "prompt", message: "prompt: the text below the front matter is used" })
  }
  const at = { line: matter.line + (/^\s*\n/.exec(matter.body)?.[0].split("\n").length ?? 1) - 1, column: 1 }
  const isModeless = !adapted.entries.some(({ key }) => key === "mode")
  const entries = [
    ...(body === "" ? [] : [entry("prompt", at, text(body, at))]),
    ...adapted.entries.filter(({ key }) => key !== "name" && (key !== "prompt" || body === "")),
    ...(source.isPrimary === true && isModeless ? [entry("mode", start, text("primary", start))] : [])
  ]
  // In files of other tools, `{env:X}` is ordinary text.
  const content = settleContent({ tree: agentTree(name, entries, start), faults: [], refused: [] }, path)
  const [wrong] = content.issues
  return wrong === undefined
    ? { ...content, name, isAgent: true, warnings: notes.map(issueAt).map(asNote) } satisfies ForeignAgentContent
    : left(
      "restriction",
      { ...wrong, message: `the agent ${JSON.stringify(name)} is left out: ${wrong.message}` },
      name
    )
})

const asNote = (issue: ConfigIssue): ConfigIssue => ({ ...issue, kind: "note" })
