/** Decides how tools of servers are called: `mcp_<server>_<tool>`, in the characters and the length that every provider takes. */
import { createHash } from "node:crypto"

const longest = 64

const plain = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_-]/g, "_")

/** The hash of what a name stands for; names that would be the same differ by it. */
const mark = (server: string, tool: string): string =>
  createHash("sha256").update(JSON.stringify([server, tool])).digest("hex").slice(0, 8)

const marked = (name: string, server: string, tool: string): string =>
  `${name.slice(0, longest - 9)}_${mark(server, tool)}`

/** A name, and the one that the tool would have by itself. */
export interface ToolName {
  readonly name: string
  readonly wished: string
}

/** A tool of a server. */
interface Named {
  readonly server: string
  readonly tool: string
}

/**
 * The names of all tools, in their order. A name that is too long, or that several tools would have, ends with a hash: the
 * name of a tool does not depend on the order in which servers answer. What a rule denies by the name without the hash
 * stays denied: otherwise a server could lift a denial with a second tool.
 */
export const toolNames = (tools: ReadonlyArray<Named>): ReadonlyArray<ToolName> => {
  const all = tools.map(({ server, tool }) => `mcp_${plain(server)}_${plain(tool)}`)
  const count = new Map<string, number>()
  for (const name of all) count.set(name, (count.get(name) ?? 0) + 1)
  return tools.map(({ server, tool }, at) => {
    const wished = all[at] ?? ""
    const isTaken = wished.length > longest || (count.get(wished) ?? 0) > 1
    return { name: isTaken ? marked(wished, server, tool) : wished, wished }
  })
}
