/** Decides which command a name refers to: people name commands in folders in several ways. */
import * as Effect from "effect/Effect"
import { type CommandInfo, CommandInvalid, type CommandList, CommandNotFound } from "../../Commands.ts"
import { nearest } from "../../Nearest.ts"

/** The names of the commands, usable or not. */
interface Names {
  readonly commands: ReadonlyArray<{ readonly name: string }>
  readonly broken: ReadonlyArray<{ readonly name: string }>
}

/** A prompt of an MCP server: which there are, only the server knows. */
const serverPrompt = /^mcp:([^\s:]+):(\S+)$/

/** The command that stands for such a prompt. */
const promptOf = (name: string): CommandInfo | undefined => {
  const [, server, prompt] = serverPrompt.exec(name) ?? []
  return server === undefined || prompt === undefined
    ? undefined
    : { name, template: "", prompt: { server, name: prompt }, origin: `the MCP server ${server}`, hides: [] }
}

/**
 * The possible names: `git/commit` is also called `git:commit`, and `commit` if no other command is. More than one if
 * the name alone is ambiguous.
 */
export const matching = (name: string, { broken, commands }: Names): ReadonlyArray<string> => {
  const names = [...new Set([...commands, ...broken].map((each) => each.name))]
  if (names.includes(name)) return [name]
  const path = name.replaceAll(":", "/")
  if (names.includes(path)) return [path]
  if (serverPrompt.test(name)) return [name]
  return path.includes("/") ? [] : names.filter((each) => each.endsWith(`/${path}`))
}

/** The command of a name; the error says what is wrong with it, or lists the commands. */
export const find = (
  name: string,
  list: CommandList
): Effect.Effect<CommandInfo, CommandInvalid | CommandNotFound> => {
  const [meant = name, ...others] = matching(name, list)
  if (others.length > 0) {
    return new CommandNotFound({
      name,
      message: `Several commands are called ${JSON.stringify(name)}: ${
        [meant, ...others].join(", ")
      }. Write one in full.`
    })
  }
  const found = list.commands.find((command) => command.name === meant)
  const known = found ?? promptOf(meant)
  if (known !== undefined) return Effect.succeed(known)
  const wrong = list.broken.find((each) => each.name === meant)
  if (wrong !== undefined) return new CommandInvalid({ name, message: wrong.message })
  const names = list.commands.map((command) => command.name)
  const near = nearest(name, names)
  return new CommandNotFound({
    name,
    message: `There is no command ${JSON.stringify(name)}. ${
      near === undefined ? `Commands: ${names.join(", ")}.` : `Did you mean "${near}"?`
    } See \`skein commands\`.`
  })
}
