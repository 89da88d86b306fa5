/** Decides which commands are built in. */
import type { CommandInfo, CommandList } from "../../CommandInfo.ts"

const init = `Write AGENTS.md at the top of this project: what somebody who works here for the first time has to know.

Look before you write: the README, manifests, scripts, the configuration of linters, formatters and tests, the layout of the sources, and what other files for agents there are (CLAUDE.md, .cursor/rules, .github/copilot-instructions.md). Where AGENTS.md exists, keep what is right in it, correct what is not, and add what is missing.

Say in about 40 lines:
- the commands to build, check and test, and the one that runs a single test;
- where things are, and how the parts depend on each other;
- the conventions that the code follows and a linter does not see: imports, names, errors, tests;
- what must not be done here, and what surprises.

Write only what you found in the files, and nothing that holds for every project.

$ARGUMENTS`

const review = `Review changes of this project: $ARGUMENTS

Where nothing is named above, review what is not committed yet, new files too; where there is nothing of that, the last commit. What is named may be a commit, a branch, a range, or files.

Read the whole of each changed file, not only the lines of the diff, and what calls the changed code. Look for:
- mistakes: wrong conditions, cases that were forgotten, errors that are swallowed, races, leaks;
- what the change breaks elsewhere, and tests that it lacks;
- dangers: input that is trusted, secrets, permissions;
- code that does not follow the conventions of this project.

Check each finding in the code before you name it. Give them with the gravest first: file and line, what is wrong, how it shows, and how to mend it. Say so where you found nothing, and name what you could not check. Change no files.`

const builtin = (name: string, description: string, template: string): CommandInfo => ({
  name,
  description,
  template,
  origin: "built in",
  hides: []
})

const builtins: ReadonlyArray<CommandInfo> = [
  builtin("init", "Writes AGENTS.md: what an agent has to know of this project", init),
  builtin("review", "Reviews what is not committed yet, or the commit, branch or files that are named", review)
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
