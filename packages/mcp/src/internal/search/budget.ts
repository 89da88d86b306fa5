/** Decides which tools of servers models see in full, and which they have to search for. */
import type { AnyTool } from "@skein/core/Tool"

/** How many tokens the tools of all servers may take in each request by default. */
const standard = 8_000

/** A tool and its server. */
export interface Owned {
  readonly server: string
  readonly tool: AnyTool
}

/** The tools, in two parts. */
export interface Split {
  readonly shown: ReadonlyArray<Owned>
  readonly searched: ReadonlyArray<Owned>
}

/** About how many tokens a tool takes in a request, at four characters each. */
const tokensOf = ({ describe, inputSchema, name }: AnyTool): number =>
  Math.ceil(JSON.stringify([name, describe, inputSchema]).length / 4)

/**
 * Splits them. Tools of one server work together, so a server is shown whole or not at all: the smallest first, as long as
 * all fit. The order in which servers answer does not matter.
 */
export const splitTools = (tools: ReadonlyArray<Owned>, budget = standard): Split => {
  const sizes = new Map<string, number>()
  for (const { server, tool } of tools) sizes.set(server, (sizes.get(server) ?? 0) + tokensOf(tool))
  let left = budget
  const shown = new Set<string>()
  for (const [server, size] of [...sizes].toSorted(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))) {
    if (size > left) break
    left -= size
    shown.add(server)
  }
  return {
    shown: tools.filter(({ server }) => shown.has(server)),
    searched: tools.filter(({ server }) => !shown.has(server))
  }
}
