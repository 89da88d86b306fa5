/** Decides which rules of Skein a rule of Claude Code stands for, such as `Bash(npm run test:*)` or `Read(./secrets/**)`. */
import { toolsOfClaude } from "./claudeTools.ts"

/** What a rule speaks of. */
export interface Spoken {
  readonly permission: string
  readonly pattern: string
}

/** What a rule of a tool speaks of is its permission, and some tools there have one without being anything here. */
const permissions: ReadonlyMap<string, string> = new Map([
  ...toolsOfClaude,
  ["Write", "edit"],
  ["NotebookEdit", "edit"],
  ["Skill", "skill"]
])

/** Agents that both programs bring, under the names of Skein. */
const agents: ReadonlyMap<string, string> = new Map([
  ["Explore", "explore"],
  ["Plan", "plan"],
  ["general-purpose", "general"]
])

const files = new Set(["read", "edit", "list"])

/** Paths there are as in .gitignore; here `*` goes over directories. What forbids may match more, what allows may not. */
const pathsOf = (written: string, action: string): ReadonlyArray<string> => {
  if (written.startsWith("//")) return [flat(written.slice(1))]
  if (written.startsWith("~/")) return [flat(written)]
  const below = flat(written.replace(/^(?:\.?\/)+/, ""))
  return action === "allow" || below.startsWith("*") ? [below] : [below, `*/${below}`]
}

const flat = (path: string): string => path.replaceAll(/\*\*\/|\*+/g, "*").replaceAll(/\*{2,}/g, "*")

/** The rules that such a rule stands for; undefined where it is none. Tools that Skein does not have keep their names. */
export const claudePatterns = (rule: string, action: string): ReadonlyArray<Spoken> | undefined => {
  const [, tool, what] = /^\s*([\w*-]+)\s*(?:\(([^]*)\))?\s*$/.exec(rule) ?? []
  if (tool === undefined) return undefined
  const permission = permissions.get(tool) ?? tool
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
