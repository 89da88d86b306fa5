/** Decides which hosts a login may reach: those that its server names may be anywhere, so most are out of bounds. */
import type { McpHost } from "../../McpHost.ts"
import { boundedFetch } from "../http/boundedFetch.ts"

/** How long an answer may be, in bytes, and how long it may take, in milliseconds. */
const most = { bytes: 1024 * 1024, time: 30_000 } as const

/** Whether a host is this machine. */
export const isHere = ({ hostname }: URL): boolean =>
  hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]"

/** An answer that has come whole. */
const read = async (answer: Response): Promise<Response> => {
  const { headers, status, statusText } = answer
  const body = await answer.arrayBuffer()
  return new Response(body.byteLength === 0 ? null : body, { headers, status, statusText })
}

/**
 * Makes what sends the requests of a login. The server's own origin is the user's choice; all else must be open to
 * everybody. A server on this machine may name others on this machine.
 */
export const makeAuthFetch = (
  host: Pick<McpHost, "fetch" | "fetchPublic">,
  server: URL,
  patience: number = most.time
): McpHost["fetch"] => {
  const own = boundedFetch(host.fetch, most.bytes)
  return async (to, init = {}) => {
    const url = new URL(to)
    const isOwn = url.origin === server.origin || (isHere(server) && isHere(url))
    const late = AbortSignal.timeout(patience)
    const signal = init.signal ? AbortSignal.any([init.signal, late]) : late
    return (isOwn ? own : host.fetchPublic)(url, { ...init, signal }).then(read).catch((error: unknown) => {
      throw late.aborted ? new Error(`${url.host} did not answer within ${patience / 1000} s`) : error
    })
  }
}
