/** What `skein completions` does. */
import * as Effect from "effect/Effect"
import type { CommandSpec } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { bash, fish, zsh } from "./scripts.ts"

/** Prints the script that completes these commands in a shell. */
export const executeCompletions = (commands: ReadonlyArray<CommandSpec>) =>
({ operands: [shell] }: {
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, never, Stdio> =>
  Effect.map(Stdio, (stdio) => {
    const write = shell === "zsh" ? zsh : shell === "fish" ? fish : bash
    stdio.out(write(commands))
    return ExitCode.done
  })
