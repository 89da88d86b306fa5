/** Generates the help from the declarations of the commands. */
import type { CommandEntry, CommandSpec, Flags } from "../CommandSpec.ts"
import { flagText } from "./arguments.ts"
import { runFlags, sessionFlags } from "./flags.ts"

const table = (rows: ReadonlyArray<readonly [left: string, right: string]>): string => {
  const width = Math.min(36, Math.max(...rows.map(([left]) => left.length)))
  return rows.map(([left, right]) =>
    left.length > width ? `  ${left}\n  ${" ".repeat(width)}  ${right}` : `  ${left.padEnd(width)}  ${right}`
  ).join("\n")
}

const rowsOf = (flags: Flags) =>
  Object.entries(flags).map(([name, flag]) =>
    [`${flag.short === undefined ? "   " : `-${flag.short},`} ${flagText(name, flag)}`, flag.description] as const
  )

const overview = (commands: ReadonlyArray<CommandEntry>, version: string): string =>
  `Skein ${version}: agents that delegate to agents

Usage: skein COMMAND [flags]
       skein [prompt…] [flags]    opens a session on a terminal, else the same as \`skein run\`

On a terminal, \`skein\` takes the flags of \`skein run\`, and these:
${table(rowsOf(Object.fromEntries(Object.entries(sessionFlags).filter(([name]) => !(name in runFlags)))))}

Commands:
${table(commands.map(({ aliases = [], name, summary }) => [[name, ...aliases].join(", "), summary]))}

Run \`skein help COMMAND\` for details, \`skein --version\` for the version.
`

const helpOfCommand = (path: ReadonlyArray<CommandSpec>, command: CommandSpec): string => {
  const call = ["skein", ...path.map(({ name }) => name)].join(" ")
  const sections = [
    command.summary + ".",
    `Usage: ${[call, command.operands, "[flags]"].filter((part) => part !== undefined).join(" ")}`,
    ...(command.details === undefined ? [] : [command.details]),
    ...(command.commands === undefined ? [] : [
      `Commands:\n${
        table(
          command.commands.map(({ name, operands, summary }) => [`${name} ${operands ?? ""}`.trim(), summary])
        )
      }`
    ]),
    ...(Object.keys(command.flags).length === 0 ? [] : [`Flags:\n${table(rowsOf(command.flags))}`])
  ]
  return `${sections.join("\n\n")}\n`
}

/** The help of the whole program, or of the command at a path. */
export const helpOf = (
  commands: ReadonlyArray<CommandEntry>,
  path: ReadonlyArray<CommandSpec>,
  version: string
): string => {
  const command = path.at(-1)
  return command === undefined ? overview(commands, version) : helpOfCommand(path, command)
}
