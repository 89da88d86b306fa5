/** Declares `skein commands`. */
import { command } from "../CommandSpec.ts"
import { directoryFlags, formatFlags, listingFlags, verboseFlags } from "../internal/flags.ts"

const flags = { ...formatFlags, ...directoryFlags, ...verboseFlags } as const
const listFlags = { ...listingFlags, ...directoryFlags, ...verboseFlags } as const

const load = () => import("../internal/list/commands.ts")

const list = command({
  name: "list",
  summary: "Lists the commands, and the files that cannot be used",
  flags: listFlags,
  load: () => load().then(({ listCommands }) => listCommands)
})

const show = command({
  name: "show",
  summary: "Shows a command with its template, and what it overrides",
  operands: { usage: "NAME", least: 1, most: 1 },
  flags,
  load: () => load().then(({ showCommand }) => showCommand)
})

/** Lists and shows the commands. */
export const commands = command({
  name: "commands",
  summary: "Lists the commands: named prompts for `skein run --command`",
  flags: listFlags,
  commands: [list, show],
  load: () => load().then(({ listCommands }) => listCommands)
})
