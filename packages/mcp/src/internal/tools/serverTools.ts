/** The tools of all servers of a project, as models are offered them. */
import type { Question } from "@skein/core/Question"
import type { AnyTool } from "@skein/core/Tool"
import type * as Context from "effect/Context"
import type { ReadTool } from "../listing/readTools.ts"
import { toolNames } from "../listing/toolName.ts"
import { makeServerRequests } from "../offers/serverRequests.ts"
import { splitTools } from "../search/budget.ts"
import { makeSearchTools } from "../search/searchTools.ts"
import type { Server } from "../server/Server.ts"
import { makeMcpTool } from "./mcpTool.ts"

/** The tools of what these servers have listed; the same array while the list is the same. */
export const makeServerTools = (
  servers: ReadonlyArray<Server>,
  questions: Context.Tag.Service<Question>,
  budget?: number
): () => ReadonlyArray<AnyTool> => {
  let known: ReadonlyArray<ReadonlyArray<ReadTool>> | undefined
  let made: ReadonlyArray<AnyTool> = []
  return () => {
    const now = servers.map((server) => server.tools())
    if (known !== undefined && now.every((tools, at) => tools === known?.[at])) return made
    known = now
    const { searched, shown } = splitTools(toolsOf(servers, questions), budget)
    made = [...makeServerRequests(servers), ...makeSearchTools(searched), ...shown.map(({ tool }) => tool)].toSorted((
      a,
      b
    ) => (a.name < b.name ? -1 : 1))
    return made
  }
}

const toolsOf = (servers: ReadonlyArray<Server>, questions: Context.Tag.Service<Question>) => {
  const all = servers.map(({ target }) => target.name)
  return servers.flatMap((server) => {
    const { name } = server.target
    const tools = server.tools()
    const names = toolNames(name, tools.map(({ tool }) => tool.name), all)
    return tools.map(({ schema, tool }, at) => ({
      server: name,
      tool: makeMcpTool(server, names[at] ?? { name: "", wished: "" }, tool, schema, questions)
    }))
  }).toSorted((a, b) => (a.tool.name < b.tool.name ? -1 : 1))
}
