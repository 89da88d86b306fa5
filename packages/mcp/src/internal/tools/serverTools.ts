/** The tools of all servers of a project, as models are offered them. */
import type { Question } from "@skein/core/Question"
import type { AnyTool } from "@skein/core/Tool"
import type * as Context from "effect/Context"
import type { ReadTool } from "../listing/readTools.ts"
import { toolNames } from "../listing/toolName.ts"
import type { Server } from "../server/Server.ts"
import { makeMcpTool } from "./mcpTool.ts"

/** The tools of what these servers have listed; the same array for as long as that is the same. */
export const makeServerTools = (
  servers: ReadonlyArray<Server>,
  questions: Context.Tag.Service<Question>
): () => ReadonlyArray<AnyTool> => {
  let known: ReadonlyArray<ReadonlyArray<ReadTool>> | undefined
  let made: ReadonlyArray<AnyTool> = []
  return () => {
    const now = servers.map((server) => server.tools())
    if (known !== undefined && now.every((tools, at) => tools === known?.[at])) return made
    known = now
    made = toolsOf(servers, questions)
    return made
  }
}

const toolsOf = (servers: ReadonlyArray<Server>, questions: Context.Tag.Service<Question>): ReadonlyArray<AnyTool> => {
  const all = servers.flatMap((server) => server.tools().map((read) => ({ server, read })))
  const names = toolNames(all.map(({ read, server }) => ({ server: server.target.name, tool: read.tool.name })))
  return all.map(({ read, server }, at) => makeMcpTool(server, names[at] ?? "", read.tool, read.schema, questions))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
