/** Decides which commands are built in. */
import type { CommandInfo, CommandList } from "../../Commands.ts"
import { initRequest } from "../prompts.ts"

const init = `${initRequest}

Look before you write: the README, manifests, scripts, the configuration of linters, formatters and tests, the layout of the sources, and what other files for agents there are (CLAUDE.md, .cursor/rules, .github/copilot-instructions.md). If AGENTS.md exists, keep what is right, correct what is wrong, and add what is missing.

Say in about 40 lines:
- the commands to build, check and test, and the one that runs a single test;
- where things are, and how the parts depend on each other;
- conventions that no linter checks: imports, names, errors, tests;
- what you must not do here, and what is surprising.

Write only what you found in the files, and nothing that is true of every project.

$ARGUMENTS`

const review = `Review changes of this project: $ARGUMENTS

If nothing is named above, review the uncommitted changes, including new files, or else the last commit. You may be given a commit, a branch, a range, or files.

Read the whole of each changed file, not only the lines of the diff, and what calls the changed code. Look for:
- bugs: wrong conditions, forgotten cases, swallowed errors, races, leaks;
- what the change breaks elsewhere, and missing tests;
- security: trusted input, secrets, permissions;
- code that does not follow the conventions of this project.

Verify each finding in the code before you report it. List the most serious first: file and line, what is wrong, how it shows, and how to fix it. If you found nothing, say so, and name what you could not check. Change no files.`

const builtin = (name: string, description: string, template: string): CommandInfo => ({
  name,
  description,
  template,
  origin: "built in",
  hides: []
})

const builtins: ReadonlyArray<CommandInfo> = [
  builtin("init", "Writes AGENTS.md: what an agent must know about this project", init),
  builtin("review", "Reviews uncommitted changes, or the commit, branch or files that you name", review)
]

const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : 1)

/** Adds the built-in commands that nothing overrides; even a broken file of the same name overrides one. */
export const withBuiltins = ({ broken, commands }: CommandList): CommandList => {
  const names = new Set([...commands, ...broken].map(({ name }) => name))
  const hiding = commands.map((command): CommandInfo =>
    builtins.some(({ name }) => name === command.name)
      ? { ...command, hides: ["built in", ...command.hides] }
      : command
  )
  return { broken, commands: [...builtins.filter(({ name }) => !names.has(name)), ...hiding].toSorted(byName) }
}
