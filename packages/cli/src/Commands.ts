/** Owns which commands there are. */
import type { CommandSpec } from "./CommandSpec.ts"
import { run } from "./commands/run.ts"

/** The commands, in the order in which the help names them. */
export const commands: ReadonlyArray<CommandSpec> = [run]
