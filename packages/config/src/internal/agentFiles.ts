/** Finds and reads the agents of one place, such as the user's directory or that of a project. Loaded only where there are any. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import { basename, join, relative, sep } from "node:path"
import type { ConfigIssue } from "../ConfigError.ts"
import { type AgentContent, type AgentSource, readAgentFile } from "./agentFile.ts"
import type { AgentHome } from "./locateFiles.ts"
import { refusesFile } from "./projectTrust.ts"
import { reason } from "./readText.ts"
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
  { home, project, seen }: { readonly home: string; readonly project: string | undefined; readonly seen: Set<string> }
) {
  const issues: Array<ConfigIssue> = []
  const warnings: Array<ConfigIssue> = []
  const agents = new Map<string, AgentContent>()
  for (const { directories, foreign } of homes) {
    const found = yield* Effect.forEach(directories, (directory) => list(directory, foreign !== "claude", seen, issues))
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
        ...(project === undefined ? {} : { project }),
        ...(foreign === undefined ? {} : { foreign })
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

/** Why a project may not have this file as an agent: links count as what they lead to. */
const outside = Effect.fnUntraced(function*(path: string, project: string) {
  const fs = yield* FileSystem.FileSystem
  const real = yield* Effect.orElseSucceed(fs.realPath(path), () => path)
  const root = yield* Effect.orElseSucceed(fs.realPath(project), () => project)
  return refusesFile(relative(root, real).split(sep))
})

/**
 * The Markdown files below a directory, by name. Each directory is read once, under its own name rather than under that of
 * a link to it, so that links which go round in circles end.
 */
const list = Effect.fnUntraced(function*(
  top: string,
  deep: boolean,
  seen: Set<string>,
  issues: Array<ConfigIssue>
) {
  const fs = yield* FileSystem.FileSystem
  const found: Array<{ readonly path: string; readonly name: string }> = []
  const links: Array<string> = []
  const kind = (path: string) =>
    Effect.orElseSucceed(Effect.map(fs.stat(path), ({ type }) => type), () => "File" as const)

  const walk = (directory: string, name: string): Effect.Effect<void, never, never> =>
    Effect.gen(function*() {
      const real = yield* Effect.orElseSucceed(fs.realPath(directory), () => directory)
      if (seen.has(real)) return
      seen.add(real)
      const names = yield* Effect.catchAll(fs.readDirectory(directory), (error) => {
        issues.push({ file: directory, message: `cannot be listed: ${reason(error)}` })
        return Effect.succeed<Array<string>>([])
      })
      for (const each of names.toSorted()) {
        if (each.startsWith(".")) continue
        const path = join(directory, each)
        // A directory of such a name is somebody's mistake, which reading it will tell.
        if (each.endsWith(".md")) found.push({ path, name: `${name}${basename(each, ".md")}` })
        else if (deep && (yield* kind(path)) === "Directory") {
          const target = yield* Effect.orElseSucceed(fs.realPath(path), () => path)
          if (target === join(real, each)) yield* walk(path, `${name}${each}/`)
          else links.push(path)
        }
      }
    })

  if ((yield* kind(top)) !== "Directory") {
    issues.push({ file: top, message: "this must be a directory, with a file for each agent" })
    return found
  }
  yield* walk(top, "")
  for (let link = links.shift(); link !== undefined; link = links.shift()) {
    yield* walk(link, `${relative(top, link).split(sep).join("/")}/`)
  }
  return found
})
