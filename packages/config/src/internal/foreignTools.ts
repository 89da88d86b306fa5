/** Maps the tool names in files of other tools to those of Skein. */
import { covers } from "@skein/core/Ruleset"
import { type Action, wordOf } from "./foreign.ts"

/** The equivalent tools, by their names there, as used in lists of tools and in rules. */
export const toolsOfClaude: ReadonlyMap<string, string> = new Map([
  ["Read", "read"],
  ["Edit", "edit"],
  ["MultiEdit", "edit"],
  ["Write", "write"],
  ["Bash", "bash"],
  ["Grep", "grep"],
  ["Glob", "glob"],
  ["LS", "list"],
  ["WebFetch", "webfetch"],
  ["Task", "task"],
  ["Agent", "task"],
  ["TodoWrite", "todowrite"],
  ["TodoRead", "todoread"],
  ["Skill", "skill"],
  ["AskUserQuestion", "question"],
  ["NotebookRead", "read"],
  ["PowerShell", "bash"],
  ["Monitor", "bash"]
])

const tools = new Set([
  "read",
  "write",
  "edit",
  "patch",
  "glob",
  "grep",
  "list",
  "bash",
  "webfetch",
  "todowrite",
  "todoread",
  "task",
  "task_agent",
  "task_model",
  "skill",
  "question",
  "external_directory",
  "doom_loop"
])

/** Names in OpenCode. */
const exact: ReadonlyMap<string, string> = new Map([["multiedit", "edit"], ["applypatch", "patch"]])

/** Permissions of OpenCode under another name than here; since version 2, its `execute` runs scripts of tools. */
const openCode: ReadonlyMap<string, string> = new Map([
  ["shell", "bash"],
  ["subagent", "task"],
  ["multiedit", "edit"],
  ["apply_patch", "patch"],
  ["execute", "execute"]
])

const claude: ReadonlyMap<string, string> = new Map(
  [...toolsOfClaude].map(([name, ours]) => [name.toLowerCase(), ours])
)

/** Other names that people use for the same tools. They only count in denials: nothing is granted by a guess. */
const synonyms: ReadonlyMap<string, string> = new Map([
  ["notebookedit", "edit"],
  ["shell", "bash"],
  ["terminal", "bash"],
  ["execute", "bash"],
  ["exec", "bash"],
  ["command", "bash"],
  ["commands", "bash"],
  ["runcommand", "bash"],
  ["web", "webfetch"],
  ["fetch", "webfetch"],
  ["network", "webfetch"],
  ["internet", "webfetch"],
  ["search", "grep"],
  ["delete", "edit"],
  ["create", "edit"],
  ["agent", "task"],
  ["externaldirectory", "external_directory"],
  ["doomloop", "doom_loop"]
])

/** The tools of an MCP server in Claude Code: `mcp__SERVER` is all of one server, `mcp__SERVER__TOOL` one of them. */
export const toolOfServer = (tool: string): string | undefined => {
  const [, server, name] = /^mcp__(.+?)(?:__(.*))?$/.exec(tool) ?? []
  return server === undefined ? undefined : `mcp_${server}_${name ?? "*"}`
}

/** Skein's name of a tool; undefined if it has none of that name. */
export const toolNamed = (name: string): string | undefined => {
  const lower = name.trim().toLowerCase()
  return claude.get(lower) ?? (tools.has(lower) ? lower : exact.get(wordOf(name)) ?? toolOfServer(name.trim()))
}

/** Skein's name of a denied tool; undefined if no tool does the same. */
export const deniedNamed = (name: string): string | undefined => toolNamed(name) ?? synonyms.get(wordOf(name))

/** The permission for a rule about a tool: an agent that may not write may not edit. */
export const permissionNamed = (name: string): string | undefined => {
  const tool = deniedNamed(name)
  return tool === "write" || tool === "patch" ? "edit" : tool
}

/**
 * Skein's permissions for a rule about a tool, or about all tools that a wildcard covers. An unknown name may be that of
 * a tool of an MCP server: OpenCode calls it `SERVER_TOOL`, and Skein `mcp_SERVER_TOOL`.
 */
export const skeinNames = (name: string, action: Action): ReadonlyArray<string> => {
  const named = openCode.get(name) ?? name
  const ours = action === "allow" ? toolNamed(named) : permissionNamed(named)
  if (ours !== undefined && named !== "execute") return [ours]
  const covered = [...openCode].flatMap(([theirs, our]) => covers(named, theirs) && !covers(named, our) ? [our] : [])
  return [named, ...new Set(covered), ...(/^(?:\*|mcp_)|^[^_*?]+$/.test(named) ? [] : [`mcp_${named}`])]
}
