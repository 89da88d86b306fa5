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
    const isTaken = wished.length > longest || (count.get(wished) ?? 0) > 1 || isOfAnother(wished, server, servers)
    return { name: isTaken ? marked(wished, server, tool) : wished, wished }
  })
}
