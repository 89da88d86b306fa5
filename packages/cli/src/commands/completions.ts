/** Declares `skein completions`. */
import { command, type CommandSpec } from "../CommandSpec.ts"

/** Prints a script that completes these commands and their flags in a shell. */
export const completions = (commands: () => ReadonlyArray<CommandSpec>) =>
  command({
    name: "completions",
    summary: "Prints a completion script for a shell",
    details: "For example: skein completions bash > ~/.local/share/bash-completion/completions/skein",
    operands: { usage: "bash|zsh|fish", least: 1, most: 1, choices: ["bash", "zsh", "fish"] },
    flags: {},
    load: () =>
      import("../internal/completions/execute.ts").then(({ executeCompletions }) => executeCompletions(commands()))
  })
