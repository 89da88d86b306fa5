/** Reads the list of a server's tools: each once, and only those whose schema a model can be shown. */
import type { Tool } from "@modelcontextprotocol/client"
import * as Either from "effect/Either"
import { cleanLine } from "../cleanText.ts"
import { inputSchemaOf, type RawSchema } from "./inputSchema.ts"

/** How many tools of one server there may be. */
const most = 512

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
export interface ReadTools {
  readonly tools: ReadonlyArray<ReadTool>
  /** What is left out, and why. */
  readonly notes: ReadonlyArray<string>
}

/** Reads it. */
export const readTools = ({ broken, tools: listed }: Listed): ReadTools => {
  const tools = new Map<string, ReadTool>()
  const notes = [...broken]
  for (const tool of listed) {
    const shown = JSON.stringify(cleanLine(tool.name, 100))
    const schema = inputSchemaOf(tool.inputSchema)
    if (tools.has(tool.name)) notes.push(`the tool ${shown} is listed more than once; its first place counts`)
    else if (Either.isLeft(schema)) {
      notes.push(`the tool ${shown} is left out, its schema cannot be used: ${schema.left}`)
    } else if (tools.size < most) tools.set(tool.name, { tool, schema: schema.right })
    else {
      notes.push(`only the first ${most} of its ${listed.length} tools are used`)
      break
    }
  }
  return { tools: [...tools.values()], notes }
}
