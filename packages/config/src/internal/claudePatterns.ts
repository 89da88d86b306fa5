/** Translates a rule of Claude Code, such as `Bash(npm run test:*)` or `Read(./secrets/**)`, to rules of Skein. */
import type { Action } from "./foreign.ts"
import { permissionNamed, toolOfServer, toolsOfClaude } from "./foreignTools.ts"

/** The subject of a rule. */
export interface Spoken {
  readonly permission: string
  readonly pattern: string
}

/** The permission of the subject of a rule. Some tools have a permission there without existing here. */
const permissions: ReadonlyMap<string, string> = new Map([
  ...toolsOfClaude,
  ["Write", "edit"],
  ["NotebookEdit", "edit"],
  ["Skill", "skill"]
])

/** Agents that both programs have, under Skein's names. */
const agents: ReadonlyMap<string, string> = new Map([
  ["Explore", "explore"],
  ["Plan", "plan"],
  ["general-purpose", "general"]
])

const files = new Set(["read", "edit", "list"])

/**
 * Paths there are as in .gitignore; here `*` crosses directories. A denial may match more, and a permission must not.
 */
const pathsOf = (written: string, action: Action): ReadonlyArray<string> => {
  if (written.startsWith("//")) return [flat(written.slice(1))]
  if (written.startsWith("~/")) return [flat(written)]
  const below = written.replace(/^(?:\.?\/)+/, "")
  return action === "allow" ? [flat(below)] : pathsBelow(below)
}

/** The patterns of a path that a restriction means, wherever the session's directory is. */
export const pathsBelow = (path: string): ReadonlyArray<string> => {
  const below = flat(path)
  return below === "" || below.startsWith("*") ? [below] : [below, `*/${below}`]
}

const flat = (path: string): string => path.replaceAll(/\*\*\/|\*+/g, "*").replaceAll(/\*{2,}/g, "*")

const form = /^\s*([\w*-]+)\s*(?:\(([^]*)\))?\s*$/

/** Whether it has the form of a rule. */
export const isRule = (written: string): boolean => form.test(written)

/** The addresses of a host. */
export const hostPatterns = (host: string): ReadonlyArray<string> => [
  `*://${host}`,
  `*://${host}/*`,
  `*://${host}:*`
]

/**
 * The translation of such a rule; undefined for an invalid one that allows. An invalid one that restricts covers all
 * that it may mean: the whole tool, or everything. Tools that Skein does not have keep their names.
 */
export const claudePatterns = (rule: string, action: Action): ReadonlyArray<Spoken> | undefined => {
  const [, tool, what] = form.exec(rule) ?? []
  if (tool === undefined) {
    const begun = /^\s*([\w*-]+)/.exec(rule)?.[1]
    return action === "allow" ? undefined : claudePatterns(begun ?? "*", action)
  }
  const named = permissions.get(tool) ?? toolOfServer(tool)
  const permission = named ?? (action === "allow" ? undefined : permissionNamed(tool)) ?? tool
  const all = (patterns: ReadonlyArray<string>) => patterns.map((pattern) => ({ permission, pattern }))
  const text = what?.trim()
  if (text === undefined || text === "" || text === "*") return all(["*"])
  if (permission === "bash") return all([text.replace(/:\*$/, " *")])
  // `NAME:*` is a skill with any arguments, or all skills of a plugin.
  if (permission === "skill" && text.endsWith(":*")) {
    return all(action === "allow" ? [text.slice(0, -2)] : [text.slice(0, -2), text])
  }
  if (permission === "task") return all([agents.get(text) ?? text])
  if (permission === "webfetch") {
    const host = /^domain:(.+)$/.exec(text)?.[1]?.trim()
    return all(host === undefined ? [text] : hostPatterns(host))
  }
  return all(files.has(permission) ? pathsOf(text, action) : [text])
}
