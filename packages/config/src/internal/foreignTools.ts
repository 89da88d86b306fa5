/** Maps the tool names in files of other tools to those of Skein. */
import { toolsOfClaude } from "./claudeTools.ts"
import { wordOf } from "./foreign.ts"

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

/** Skein's name of a tool; undefined if it has none of that name. */
export const toolNamed = (name: string): string | undefined => {
  const lower = name.trim().toLowerCase()
  return claude.get(lower) ?? (tools.has(lower) ? lower : exact.get(wordOf(name)))
}

/** Skein's name of a denied tool; undefined if no tool does the same. */
export const deniedNamed = (name: string): string | undefined => toolNamed(name) ?? synonyms.get(wordOf(name))

/** Skein's name of an OpenCode tool; an unknown tool keeps its name. */
export const openCodeTool = (name: string): string =>
  name === "multiedit" ? "edit" : name === "apply_patch" ? "patch" : name

/** The permission for a rule about a tool: an agent that may not write may not edit. */
export const permissionNamed = (name: string): string | undefined => {
  const tool = deniedNamed(name)
  return tool === "write" || tool === "patch" ? "edit" : tool
}
