/** Translates a rule of Claude Code, such as `Bash(npm run test:*)` or `Read(./secrets/**)`, to rules of Skein. */
import { toolsOfClaude } from "./claudeTools.ts"

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

/** Tools of MCP servers: `mcp__SERVER` is all of one server, `mcp__SERVER__TOOL` one of them. */
const toolOfServer = (tool: string): string | undefined => {
  const [, server, name] = /^mcp__(.+?)(?:__(.*))?$/.exec(tool) ?? []
  return server === undefined ? undefined : `mcp_${server}_${name ?? "*"}`
}

const files = new Set(["read", "edit", "list"])

/**
 * Paths there are as in .gitignore; here `*` crosses directories. A denial may match more, and a permission must not.
 */
const pathsOf = (written: string, action: string): ReadonlyArray<string> => {
  if (written.startsWith("//")) return [flat(written.slice(1))]
  if (written.startsWith("~/")) return [flat(written)]
  const below = flat(written.replace(/^(?:\.?\/)+/, ""))
  return action === "allow" || below.startsWith("*") ? [below] : [below, `*/${below}`]
}

const flat = (path: string): string => path.replaceAll(/\*\*\/|\*+/g, "*").replaceAll(/\*{2,}/g, "*")

/** The translation of such a rule; undefined if it is invalid. Tools that Skein does not have keep their names. */
export const claudePatterns = (rule: string, action: string): ReadonlyArray<Spoken> | undefined => {
  const [, tool, what] = /^\s*([\w*-]+)\s*(?:\(([^]*)\))?\s*$/.exec(rule) ?? []
  if (tool === undefined) return undefined
  const permission = permissions.get(tool) ?? toolOfServer(tool) ?? tool
  const all = (patterns: ReadonlyArray<string>) => patterns.map((pattern) => ({ permission, pattern }))
  const text = what?.trim()
  if (text === undefined || text === "" || text === "*") return all(["*"])
  if (permission === "bash") return all([text.replace(/:\*$/, " *")])
  if (permission === "task") return all([agents.get(text) ?? text])
  if (permission === "webfetch") {
    const host = /^domain:(.+)$/.exec(text)?.[1]?.trim()
    return all(host === undefined ? [text] : [`*://${host}`, `*://${host}/*`, `*://${host}:*`])
  }
  return all(files.has(permission) ? pathsOf(text, action) : [text])
}
