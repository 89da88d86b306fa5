/** Decides which hosts a login may reach: those that its server names may be anywhere, so most are out of bounds. */
import type { McpHost } from "../../McpHost.ts"
import { boundedFetch } from "../http/boundedFetch.ts"

/** Whether a host is this machine. */
export const isHere = ({ hostname }: URL): boolean =>
  hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]"

/**
 * Makes what sends the requests of a login. The server's own origin is the user's choice; all else must be open to
 * everybody. A server on this machine may name others on this machine.
 */
export const makeAuthFetch = (host: Pick<McpHost, "fetch" | "fetchPublic">, server: URL): McpHost["fetch"] => {
  const own = boundedFetch(host.fetch)
  return (to, init) => {
    const url = new URL(to)
    const isOwn = url.origin === server.origin || (isHere(server) && isHere(url))
    return isOwn ? own(url, init) : host.fetchPublic(url, init)
  }
}
