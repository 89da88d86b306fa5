/** Finds and reads the agents of one place, such as the user's directory or that of a project. Loaded only where there are any. */
import * as Effect from "effect/Effect"
import type { ConfigIssue } from "../ConfigError.ts"
import { type AgentContent, type AgentSource, readAgentFile } from "./agentFile.ts"
import type { Known } from "./foreignAgent.ts"
import type { AgentHome } from "./locateFiles.ts"
import { listMarkdown, outside } from "./markdownFiles.ts"
import { merge, record, type SourcedRecord } from "./sourced.ts"

/** What the agents of a place say. */
interface AgentsContent {
  readonly tree: SourcedRecord
  readonly issues: ReadonlyArray<ConfigIssue>
  readonly warnings: ReadonlyArray<ConfigIssue>
  readonly files: ReadonlyArray<string>
}

/**
 * Reads all agents below these directories. An agent of a later directory takes the place of one of that name in an earlier
 * one; in one directory a name may stand once. `seen` are the directories that were read before, to which links may lead.
 */
export const readAgents = Effect.fnUntraced(function*(
  homes: ReadonlyArray<AgentHome>,
  { home, known, project, seen }: {
    readonly home: string
    readonly known: Known
    readonly project: string | undefined
    readonly seen: Set<string>
  }
) {
  const issues: Array<ConfigIssue> = []
  const warnings: Array<ConfigIssue> = []
  const agents = new Map<string, AgentContent>()
  for (const { arePrimary, directories, foreign } of homes) {
    const found = yield* Effect.forEach(
      directories,
      (directory) => listMarkdown(directory, { deep: foreign !== "claude", what: "agent", seen, issues })
    )
    const own = new Map<string, AgentContent & { readonly path: string }>()
    for (const { name, path } of found.flat()) {
      const refusal = project === undefined ? undefined : yield* outside(path, project)
      if (refusal !== undefined) {
        warnings.push({ file: path, message: `this agent is ignored: ${refusal}` })
        continue
      }
      const source: AgentSource = {
        path,
        name,
        home,
        known,
        ...(project === undefined ? {} : { project }),
        ...(foreign === undefined ? {} : { foreign }),
        ...(arePrimary === undefined ? {} : { isPrimary: arePrimary })
      }
      const content = yield* readAgentFile(source)
      const before = own.get(content.name)
      if (content.issues.length > 0) issues.push(...content.issues)
      else if (before === undefined) own.set(content.name, { ...content, path })
      else {
        issues.push({
          file: path,
          key: `agent.${content.name}`,
          message: `the agent ${JSON.stringify(content.name)} stands in ${before.path} already; rename one of them`
        })
      }
    }
    for (const [name, content] of own) agents.set(name, content)
  }
  const contents = [...agents.values()]
  return {
    tree: contents.map(({ tree }) => tree).reduce(merge, record([], { name: "default" })),
    issues,
    warnings: [...warnings, ...contents.flatMap((content) => content.warnings)],
    files: contents.map(({ tree }) => tree.origin.name)
  } satisfies AgentsContent
})
