/** Says why a tool is not there: the server that would have it cannot be used. */
import { prefixOf } from "../listing/toolName.ts"
import type { Server } from "../server/Server.ts"

/** Why there is no tool of this name; undefined if no such server has failed. */
export const whyMissing = (
  servers: ReadonlyArray<Pick<Server, "failure" | "target">>,
  name: string
): string | undefined => {
  const [server] = servers.filter(({ target }) => name.startsWith(prefixOf(target.name)))
    .toSorted((a, b) => b.target.name.length - a.target.name.length)
  const failure = server?.failure()
  return server === undefined || failure === undefined
    ? undefined
    : `The MCP server ${server.target.name} cannot be used: ${failure}.`
}
