/**
 * Finds and reads the agents of one place. An agent file of Skein becomes the same tree as `agent.NAME` in skein.json.
 * One of another tool is read as its owner does, and left out if it cannot be used. Loaded only if there are any.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ConfigIssue } from "../ConfigError.ts"
import { type ConfigContent, issueIn, onlyIssues } from "./configContent.ts"
import { settleContent } from "./configFile.ts"
import { entry, type Foreign, hasBlanks, readMatter, text, type WhyNot } from "./foreign.ts"
import { adapt } from "./foreignAgent.ts"
import { readFront } from "./frontMatter.ts"
import { type Fault, type Located, type LocatedEntry, type Place, plain, start } from "./located.ts"
import type { AgentHome } from "./locateFiles.ts"
import { limitsOf, mergeForeign } from "./mergeProject.ts"
import type { ProjectFiles } from "./projectFiles.ts"
import { listMarkdown, readLenient } from "./readText.ts"
import { merge, record, type SourcedRecord, valueAt } from "./sourced.ts"
import { type ConfigSource, substitute } from "./substitute.ts"

// Control characters would break the lines of lists.
const isLine = (name: string): boolean =>
  name.trim() === name && name !== "" && name.length <= 128 && !/\p{Cc}/u.test(name)

/** Whether a name is valid for an agent: names are used in rules, where `*` and `?` are wildcards. */
export const isAgentName = (name: string): boolean => isLine(name) && !/[*?]/.test(name)

/** How to fix an agent's name. */
export const namesForAgents = "use up to 128 characters in one line, without * and ?"

/** Whether a name is valid for a command or a skill. */
export const isName = isLine

/** How to fix such a name. */
export const namesForOthers = "use up to 128 characters in one line"

/** The name of another tool's agent, in a form that is safe in rules. */
export const asAgentName = (name: string): string => name.replaceAll(/[\p{Cc}*?]+/gu, "-").trim().slice(0, 128).trim()

/** A file of an agent. */
interface AgentSource extends ConfigSource {
  /** The agent's name, unless the front matter has one. */
  readonly name: string
}

/** The content of such a file, and its agent. */
interface AgentContent extends ConfigContent {
  readonly name: string
}

/** Reads a file and reports all its faults. */
const readAgentFile = Effect.fnUntraced(function*(source: AgentSource) {
  const failed = (...issues: ReadonlyArray<ConfigIssue>): AgentContent => ({
    ...onlyIssues(source.path, issues),
    name: source.name
  })
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
const agentTree = (name: string, entries: ReadonlyArray<LocatedEntry>, at: Place): Located =>
  under("agent", under(name, { kind: "object", at, entries }))

const under = (key: string, value: Located): Located => ({
  kind: "object",
  at: value.at,
  entries: [{ key, at: value.at, value }]
})

/** An agent file of another tool. */
interface ForeignAgentSource extends AgentSource {
  readonly foreign: Foreign
  /** Whether it is a primary agent by default. */
  readonly isPrimary?: true
  /** The providers that its models may use. */
  readonly whyNot: WhyNot
}

/** The content of such a file; `isAgent` says whether its owner treats it as an agent. */
interface ForeignAgentContent extends AgentContent {
  readonly isAgent: boolean
}

/** Reads a file. Issues say why it cannot be used; warnings list ignored content. */
const readForeignAgent = Effect.fnUntraced(function*(source: ForeignAgentSource) {
  const { foreign, path, whyNot } = source
  const issueAt = issueIn(path)
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

/** An unusable agent, and why. */
export interface BrokenAgent {
  readonly name: string
  readonly issues: ReadonlyArray<ConfigIssue>
}

/** The agents of a place. */
interface AgentsContent {
  /** Skein's agents. */
  readonly tree: SourcedRecord
  /** Other tools' agents. */
  readonly foreign: SourcedRecord
  readonly issues: ReadonlyArray<ConfigIssue>
  readonly warnings: ReadonlyArray<ConfigIssue>
  readonly broken: ReadonlyArray<BrokenAgent>
  readonly files: ReadonlyArray<string>
}

interface Surroundings {
  readonly home: string
  readonly whyNot: WhyNot
  readonly project: ProjectFiles | undefined
  readonly seen: Set<string>
}

/**
 * Reads all agents in these directories. A later agent replaces an earlier one of the same name, even if it is
 * unusable: then there is none. Between other tools, the limits of both apply. `seen` are the directories that were
 * read before, to which links may lead.
 */
export const readAgents = Effect.fnUntraced(function*(homes: ReadonlyArray<AgentHome>, around: Surroundings) {
  const issues: Array<ConfigIssue> = []
  const warnings: Array<ConfigIssue> = []
  const agents = new Map<string, AgentContent>()
  const foreign = new Set<string>()
  for (const home of homes) {
    const own = yield* readHome(home, around)
    issues.push(...own.issues)
    warnings.push(...own.warnings)
    for (const [name, content] of own.agents) {
      const before = agents.get(name)
      if (home.foreign === undefined || before === undefined) agents.set(name, content)
      else agents.set(name, besides(before, content))
      if (home.foreign !== undefined) foreign.add(name)
      else foreign.delete(name)
    }
  }
  const contents = [...agents.values()]
  const treeOf = (isForeign: boolean) =>
    contents.filter(({ name }) => foreign.has(name) === isForeign).map(({ tree }) => tree)
      .reduce(merge, record([], { name: "default" }))
  return {
    tree: treeOf(false),
    foreign: treeOf(true),
    issues,
    warnings: [...warnings, ...contents.flatMap((content) => content.warnings)],
    broken: contents.flatMap((content) =>
      content.issues.length === 0 ? [] : [{ name: content.name, issues: content.issues }]
    ),
    files: contents.flatMap(({ issues: wrong, tree }) => wrong.length === 0 ? [tree.origin.name] : [])
  } satisfies AgentsContent
})

/**
 * Merges an agent that another tool has as well: uses the later file, within the limits of both. If the limits of the
 * earlier one are not understood, the agent is dropped.
 */
const besides = (before: AgentContent, content: AgentContent): AgentContent => {
  if (before.issues.some(({ kind }) => kind === "restriction")) return before
  const agent = valueAt(before.tree, "record", ["agent", content.name])
  if (agent === undefined || content.issues.length > 0) return content
  const agents = record([[content.name, limitsOf(agent)]], agent.origin)
  return { ...content, tree: mergeForeign(record([["agent", agents]], agent.origin), content.tree) }
}

/** The agents of one home, by name. */
const readHome = Effect.fnUntraced(function*(home: AgentHome, { project, seen, ...around }: Surroundings) {
  const { foreign } = home
  const unreadable: Array<ConfigIssue> = []
  const warnings: Array<ConfigIssue> = []
  const agents = new Map<string, AgentContent>()
  const found = yield* Effect.forEach(
    home.directories,
    (directory) => listMarkdown(directory, { deep: true, what: "agent", seen, issues: unreadable })
  )
  for (const { name, path } of found.flat()) {
    const refusal = project === undefined ? undefined : yield* project.refusal(path)
    if (refusal !== undefined) {
      warnings.push({ file: path, message: `this agent is ignored: ${refusal}` })
      continue
    }
    const source = { path, name, home: around.home, ...(project === undefined ? {} : { project }) }
    const content: AgentContent | ForeignAgentContent = foreign === undefined
      ? yield* readAgentFile(source)
      : yield* readForeignAgent({
        ...source,
        // Their owner names these agents itself, wherever the files are.
        ...(foreign === "claude" ? { name: name.slice(name.lastIndexOf("/") + 1) } : {}),
        foreign,
        whyNot: around.whyNot,
        ...(home.arePrimary === undefined ? {} : { isPrimary: home.arePrimary })
      })
    const before = agents.get(content.name)
    if ("isAgent" in content && !content.isAgent) warnings.push(...content.issues)
    else if (before === undefined) agents.set(content.name, content)
    else if (foreign === undefined) agents.set(content.name, twice(content, path, before))
    else warnings.push(second(content.name, path, before))
  }
  return {
    agents,
    // If the directory cannot be read, the affected agents are unknown.
    issues: foreign === undefined ? unreadable : [],
    warnings: [
      ...warnings,
      ...(foreign === undefined ? [] : unreadable.map((issue) => ({ ...issue, kind: "left_out" as const })))
    ]
  }
})

const originOf = ({ issues, tree }: AgentContent): string => issues[0]?.file ?? tree.origin.name

const twice = (content: AgentContent, path: string, before: AgentContent): AgentContent => ({
  ...content,
  issues: [
    ...before.issues,
    ...content.issues,
    {
      file: path,
      key: `agent.${content.name}`,
      message: `the agent ${JSON.stringify(content.name)} is defined in ${originOf(before)} as well; rename one of them`
    }
  ]
})

const second = (name: string, path: string, before: AgentContent): ConfigIssue => ({
  file: path,
  key: `agent.${name}`,
  message: `this agent is left out: ${JSON.stringify(name)} is defined in ${
    originOf(before)
  } as well; rename one of them`,
  kind: "left_out"
})
