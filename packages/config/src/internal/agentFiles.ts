/**
 * Finds and reads the agents of one place, such as the user's directory or a project's. Loaded only if there are any.
 */
import * as Effect from "effect/Effect"
import type { ConfigIssue } from "../ConfigError.ts"
import { type AgentContent, readAgentFile } from "./agentFile.ts"
import type { WhyNot } from "./foreign.ts"
import { type ForeignAgentContent, readForeignAgent } from "./foreignAgentFile.ts"
import type { AgentHome } from "./locateFiles.ts"
import { listMarkdown } from "./markdownFiles.ts"
import { limitsOf, mergeForeign } from "./mergeProject.ts"
import type { ProjectFiles } from "./projectFiles.ts"
import { at, merge, record, type SourcedRecord } from "./sourced.ts"

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
  const agent = at(before.tree, "record", ["agent", content.name])
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
