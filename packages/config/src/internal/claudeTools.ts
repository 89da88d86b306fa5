/** Maps the tool names of Claude Code to those of Skein. */

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
  ["AskUserQuestion", "question"]
])
