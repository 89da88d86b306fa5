/** Declares the commands that set Skein up: `skein init`, `doctor`, `upgrade` and `completions`. */
import { command, type CommandSpec } from "../CommandSpec.ts"
import { databaseFlags, directoryFlags, formatFlags, verboseFlags } from "../internal/flags.ts"

/** Begins the config of a project. */
export const init = command({
  name: "init",
  summary: "Creates skein.json for this project, with a schema for editors",
  details: "Overwrites nothing, and lists the files of OpenCode and Claude Code that Skein reads here as well.",
  flags: { ...directoryFlags, ...verboseFlags },
  load: () => import("../internal/create/project.ts").then(({ initProject }) => initProject)
})

/** Checks what Skein needs. */
export const doctor = command({
  name: "doctor",
  summary: "Checks what Skein needs, and how to get what is missing",
  flags: { ...formatFlags, ...directoryFlags, ...databaseFlags, ...verboseFlags },
  load: () => import("../internal/doctor/execute.ts").then(({ executeDoctor }) => executeDoctor)
})

/** Prints how to install a newer version. */
export const upgrade = command({
  name: "upgrade",
  summary: "Prints the command that installs a newer version",
  details: "It changes nothing and asks no server. Run the printed line yourself.",
  flags: {},
  load: () => import("../internal/upgrade.ts").then(({ executeUpgrade }) => executeUpgrade)
})

/** Prints a script that completes these commands and their flags in a shell. */
export const completions = (commands: () => ReadonlyArray<CommandSpec>) =>
  command({
    name: "completions",
    summary: "Prints a completion script for a shell",
    details: "For example: skein completions bash > ~/.local/share/bash-completion/completions/skein",
    operands: { usage: "bash|zsh|fish", least: 1, most: 1, choices: ["bash", "zsh", "fish"] },
    flags: {},
    load: () => import("../internal/completions.ts").then(({ executeCompletions }) => executeCompletions(commands()))
  })
