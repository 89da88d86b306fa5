/** Knows under which names the tools of Claude Code are here. */

/** The tools that do the same, by their names there; agents name them in lists, and rules begin with them. */
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
  ["AskUserQuestion", "question"]
])
