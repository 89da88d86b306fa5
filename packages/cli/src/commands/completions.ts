/** Declares `skein completions`. */
import { command } from "../CommandSpec.ts"

/** Prints a script that completes commands and flags in a shell. */
export const completions = command({
  name: "completions",
  summary: "Prints the completions for a shell",
  details: "For example: skein completions bash > ~/.local/share/bash-completion/completions/skein",
  operands: { usage: "bash|zsh|fish", least: 1, most: 1, choices: ["bash", "zsh", "fish"] },
  flags: {},
  load: () => import("../internal/completions/execute.ts").then(({ executeCompletions }) => executeCompletions)
})
