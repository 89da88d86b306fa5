/** Reads the list of a server's prompts: those that can be named as commands, each once. */
import type { Prompt } from "@modelcontextprotocol/client"
import type { CommandInfo } from "@skein/core/Command"
import { cleanLine } from "../cleanText.ts"

/** How many prompts of one server there may be. */
const most = 512

/** How long a name may be, in characters. */
const longestName = 200

/** A prompt that can be used. */
export interface ReadPrompt {
  readonly name: string
  readonly description: string
  /** What it takes, such as `file [how]`. */
  readonly words: string
}

/** Reads it. A name with spaces or control characters cannot be written after `/`. */
export const readPrompts = (listed: ReadonlyArray<Prompt>): ReadonlyArray<ReadPrompt> => {
  const prompts = new Map<string, ReadPrompt>()
  for (const { arguments: taken = [], description, name, title } of listed) {
    if (prompts.size >= most) break
    if (!/^\S+$/.test(name) || cleanLine(name, longestName) !== name || prompts.has(name)) continue
    const words = taken.map((each) => each.required === true ? each.name : `[${each.name}]`).join(" ")
    prompts.set(name, {
      name,
      description: cleanLine(description ?? title ?? "", 300),
      words: cleanLine(words, 200)
    })
  }
  return [...prompts.values()]
}

/** The name of a prompt as a command. */
export const commandName = (server: string, { name }: ReadPrompt): string => `mcp:${server}:${name}`

/** Prompts as commands of people. */
export const promptCommands = (server: string, prompts: ReadonlyArray<ReadPrompt>): ReadonlyArray<CommandInfo> =>
  // A name with a colon could stand for several servers.
  /[\s:]/.test(server) ? [] : prompts.map((prompt): CommandInfo => {
    const description = [prompt.description, prompt.words === "" ? "" : `(${prompt.words})`].filter(Boolean).join(" ")
    return {
      name: commandName(server, prompt),
      ...(description === "" ? {} : { description }),
      template: "",
      prompt: { server, name: prompt.name },
      origin: `the MCP server ${server}`,
      hides: []
    }
  })
