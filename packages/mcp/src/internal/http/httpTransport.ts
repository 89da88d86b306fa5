/** Speaks MCP with a server over HTTP, and notices when it has forgotten the session or is gone. */
import {
  type AuthProvider,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport
} from "@modelcontextprotocol/client"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { McpHost } from "../../McpHost.ts"
import { wordsOf } from "../failure.ts"
import { boundedFetch } from "./boundedFetch.ts"

/** A transport, and how it ended. */
export interface HttpTransport {
  readonly transport: Transport
  readonly ended: Effect.Effect<string>
  readonly whyEnded: () => string | undefined
  /** Whether it refused a request for want of a login. */
  readonly isRefused: () => boolean
}

/** Makes the transport of a server at a URL. */
export const makeHttpTransport = (
  host: Pick<McpHost, "fetch" | "redact">,
  url: URL,
  headers: Readonly<Record<string, string>>,
  kind: "http" | "sse",
  authProvider?: AuthProvider
): Effect.Effect<HttpTransport> =>
  Effect.map(Deferred.make<string>(), (ended) => {
    let whyEnded: string | undefined
    const finish = (why: string) => {
      whyEnded ??= why
      Deferred.unsafeDone(ended, Effect.succeed(whyEnded))
    }
    const send = boundedFetch(host.fetch)
    let isRefused = false
    const watched: McpHost["fetch"] = (to, init) =>
      send(to, init).then((response) => {
        if (response.status === 401) isRefused = true
        // A restarted server no longer knows the session.
        if (response.status === 404 && new Headers(init?.headers).has("mcp-session-id")) {
          finish("it no longer knows this session")
        }
        return response
      }, (error: unknown) => {
        if (init?.signal?.aborted !== true) finish(`${url.origin} cannot be reached: ${host.redact(wordsOf(error))}`)
        throw error
      })
    const options = {
      fetch: watched,
      requestInit: { headers: { ...headers } },
      ...(authProvider === undefined ? {} : { authProvider })
    }
    const transport = kind === "sse"
      ? new SSEClientTransport(url, options)
      : new StreamableHTTPClientTransport(url, options)
    return { transport, ended: Deferred.await(ended), whyEnded: () => whyEnded, isRefused: () => isRefused }
  })
