// @ts-check
// The commands of the program with their flags.
import { flagText, opened } from "../../packages/cli/src/internal/arguments.ts"
import { table } from "./table.mjs"

/** @typedef {import("../../packages/cli/src/CommandSpec.ts").CommandSpec} CommandSpec */

/** @param {CommandSpec["flags"]} flags */
const flagTable = (flags) =>
  table(
    ["flag", "meaning"],
    Object.entries(flags).map(([name, flag]) => [
      `\`${flag.short === undefined ? "" : `-${flag.short}, `}${flagText(name, flag)}\``,
      flag.description
    ])
  )

/**
 * @param {CommandSpec} command @param {ReadonlyArray<string>} path
 * @returns {ReadonlyArray<string>}
 */
const partOf = (command, path) => {
  const call = [...path, command.name]
  const usage = [call.join(" "), command.operands, Object.keys(command.flags).length > 0 ? "[flags]" : undefined]
  return [
    `${"#".repeat(Math.min(4, path.length + 2))} \`${call.join(" ")}\``,
    `${command.summary}.${command.aliases === undefined ? "" : ` Also: \`${command.aliases.join("`, `")}\`.`}`,
    ...(command.details === undefined ? [] : [command.details.replaceAll("\n", " ")]),
    `\`\`\`sh\n${usage.filter((word) => word !== undefined).join(" ")}\n\`\`\``,
    ...(Object.keys(command.flags).length === 0 ? [] : [flagTable(command.flags)]),
    // The first of a group is what runs without a further word.
    ...(command.commands ?? []).flatMap((each) => partOf(each, call))
  ]
}

/** @returns {Promise<ReadonlyArray<string>>} */
export const commandsPart = async () => {
  const { commands } = await import("../../packages/cli/src/Commands.ts")
  return [
    "## Commands",
    "Ids may be shortened to any unambiguous prefix. A TIME is `90s`, `30m` or `1500ms`. `--flag value` and `--flag=value` are the same.",
    ...(await Promise.all(commands.map(opened))).flatMap((command) => partOf(command, ["skein"]))
  ]
}
