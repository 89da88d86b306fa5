/** Reads what a server lists: tools, with names and schemas that providers take, and prompts. */
import type { Prompt, Tool } from "@modelcontextprotocol/client"
import type { CommandInfo } from "@skein/core/Command"
import * as Either from "effect/Either"
import { createHash } from "node:crypto"
import { cleanLine, cleanText } from "./content.ts"

const longestToolName = 64

const plain = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_-]/g, "_")

/** The hash of what a name stands for; names that would be the same differ by it. */
const mark = (server: string, tool: string): string =>
  createHash("sha256").update(JSON.stringify([server, tool])).digest("hex").slice(0, 8)

const marked = (name: string, server: string, tool: string): string =>
  `${name.slice(0, longestToolName - 9)}_${mark(server, tool)}`

/** A name, and the one that the tool would have by itself. */
export interface ToolName {
  readonly name: string
  readonly wished: string
}

/** The beginning of the names of a server's tools. */
export const prefixOf = (server: string): string => `mcp_${plain(server)}_`

/**
 * Whether another server may have a tool of this name: `a` with the tool `b_c` must leave `mcp_a_b_c` to the server `a_b`.
 * That depends on the servers' names alone, and not on what they answer.
 */
const isOfAnother = (wished: string, server: string, servers: ReadonlyArray<string>): boolean =>
  servers.some((other) =>
    other !== server && wished.startsWith(prefixOf(other)) && prefixOf(other).length >= prefixOf(server).length
  )

/**
 * The names of all tools of one server, in their order, beside all servers of the project. A name that is too long, or that
 * several tools would have, ends with a hash: the name of a tool does not depend on which servers answer. What a rule denies
 * by the name without the hash stays denied: otherwise a server could lift a denial with a second tool.
 */
export const toolNames = (
  server: string,
  tools: ReadonlyArray<string>,
  servers: ReadonlyArray<string>
): ReadonlyArray<ToolName> => {
  const all = tools.map((tool) => `${prefixOf(server)}${plain(tool)}`)
  const count = new Map<string, number>()
  for (const name of all) count.set(name, (count.get(name) ?? 0) + 1)
  return tools.map((tool, at) => {
    const wished = all[at] ?? ""
    const isTaken = wished.length > longestToolName || (count.get(wished) ?? 0) > 1 ||
      isOfAnother(wished, server, servers)
    return { name: isTaken ? marked(wished, server, tool) : wished, wished }
  })
}

/** A JSON Schema as a server sends it. */
export type RawSchema = Readonly<Record<string, unknown>>

const deepest = 40
const longest = 64 * 1024
const mostRefs = 200

const isRecord = (value: unknown): value is RawSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** What a pointer such as `#/$defs/name` leads to. */
const targetOf = (schema: RawSchema, pointer: string): unknown =>
  pointer.slice(1).split("/").slice(1).reduce<unknown>((value, step) => {
    const key = Either.getOrElse(Either.try(() => decodeURIComponent(step)), () => step)
      .replaceAll("~1", "/").replaceAll("~0", "~")
    return typeof value === "object" && value !== null && Object.hasOwn(value, key)
      ? Reflect.get(value, key)
      : undefined
  }, schema)

const shown = (ref: string): string => JSON.stringify(cleanText(ref).slice(0, 100))

/** Keys below which there are values, and not schemas. */
const values = new Set(["enum", "const", "default", "examples", "required"])
const refKeys = ["$ref", "$dynamicRef", "$recursiveRef"]

/** The references in a schema; undefined if it is nested too deeply. */
const refsIn = (value: unknown, depth = 0): ReadonlyArray<string> | undefined => {
  if (depth > deepest) return undefined
  if (Array.isArray(value)) return joined(value.map((each) => refsIn(each, depth + 1)))
  if (!isRecord(value)) return []
  const own = refKeys.flatMap((key) => typeof value[key] === "string" ? [value[key]] : [])
  const inner = Object.entries(value).flatMap(([key, each]) => values.has(key) ? [] : [refsIn(each, depth + 1)])
  return joined([own, ...inner])
}

const joined = (lists: ReadonlyArray<ReadonlyArray<string> | undefined>): ReadonlyArray<string> | undefined => {
  const known = lists.filter((list) => list !== undefined)
  return known.length < lists.length ? undefined : known.flat()
}

/** What is wrong with a schema; undefined if a model can be shown it. */
const faultIn = (whole: RawSchema): string | undefined => {
  const states = new Map<string, "open" | "done">()
  const follow = (value: unknown): string | undefined => {
    const refs = refsIn(value)
    if (refs === undefined) return `it is nested more than ${deepest} levels deep`
    for (const ref of new Set(refs)) {
      if (!ref.startsWith("#")) return `${shown(ref)} refers to something outside of it`
      const state = states.get(ref)
      if (state === "open") return `${shown(ref)} leads back to itself`
      if (state === "done") continue
      const target = targetOf(whole, ref)
      if (!isRecord(target) && typeof target !== "boolean") return `${shown(ref)} leads nowhere`
      if (states.size >= mostRefs) return `it refers to more than ${mostRefs} parts`
      states.set(ref, "open")
      const fault = follow(target)
      if (fault !== undefined) return fault
      states.set(ref, "done")
    }
    return undefined
  }
  return follow(whole)
}

const cleaned = (value: unknown): unknown =>
  typeof value === "string"
    ? cleanText(value)
    : Array.isArray(value)
    ? value.map(cleaned)
    : isRecord(value)
    ? Object.fromEntries(
      Object.entries(value).flatMap(([key, each]) =>
        // An id would move what references are relative to, and no provider needs either.
        key === "$schema" || key === "$id" ? [] : [[key, cleaned(each)]]
      )
    )
    : value

/** The schema as models see it, or why it cannot be shown. */
const inputSchemaOf = (schema: unknown): Either.Either<RawSchema, string> => {
  if (!isRecord(schema) || (schema["type"] ?? "object") !== "object") return Either.left("it is not an object")
  const text = Either.try(() => JSON.stringify(schema))
  if (Either.isLeft(text)) return Either.left("it cannot be written as JSON")
  if (text.right.length > longest) return Either.left(`it has more than ${longest / 1024} KB`)
  const fault = faultIn(schema)
  if (fault !== undefined) return Either.left(fault)
  const clean = cleaned(schema)
  return Either.right({ properties: {}, ...(isRecord(clean) ? clean : {}), type: "object" })
}

/** How many tools there may be of one server, and how many prompts. */
const mostListed = 512

/** The list of a server's tools. */
export interface Listed {
  readonly tools: ReadonlyArray<Tool>
  /** What the protocol does not allow, each with the reason. */
  readonly broken: ReadonlyArray<string>
}

/** A tool that can be offered. */
export interface ReadTool {
  readonly tool: Tool
  readonly schema: RawSchema
}

/** What a list holds. */
interface ReadTools {
  readonly tools: ReadonlyArray<ReadTool>
  /** What is left out, and why. */
  readonly notes: ReadonlyArray<string>
}

/** Reads it. */
export const readTools = ({ broken, tools: listed }: Listed): ReadTools => {
  const tools = new Map<string, ReadTool>()
  const notes = [...broken]
  for (const tool of listed) {
    const quoted = JSON.stringify(cleanLine(tool.name, 100))
    const schema = inputSchemaOf(tool.inputSchema)
    if (tools.has(tool.name)) notes.push(`the tool ${quoted} is listed more than once; its first place counts`)
    else if (Either.isLeft(schema)) {
      notes.push(`the tool ${quoted} is left out, its schema cannot be used: ${schema.left}`)
    } else if (tools.size < mostListed) tools.set(tool.name, { tool, schema: schema.right })
    else {
      notes.push(`only the first ${mostListed} of its ${listed.length} tools are used`)
      break
    }
  }
  return { tools: [...tools.values()], notes }
}

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
    if (prompts.size >= mostListed) break
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
