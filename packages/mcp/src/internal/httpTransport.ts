/** Speaks MCP with a server over HTTP: follows it to no other host, bounds its messages, and notices when it is gone. */
import {
  type AuthProvider,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport
} from "@modelcontextprotocol/client"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { McpHost } from "../McpHost.ts"
import { wordsOf } from "./failure.ts"

type Fetch = McpHost["fetch"]

/** How long a message may be by default, in bytes. */
const standard = 16 * 1024 * 1024

/** How often one may be sent elsewhere on the same host. */
const mostRedirects = 5

const lineFeed = 0x0a

/** Fails a body in which a message is too long; in a stream of events, each ends with an empty line. */
const bounded = (isStream: boolean, longest: number): TransformStream<Uint8Array, Uint8Array> => {
  let size = 0
  let last = 0
  return new TransformStream({
    transform: (piece, controller) => {
      for (const byte of piece) {
        size++
        if (isStream && byte === lineFeed && last === lineFeed) size = 0
        if (byte !== 0x0d) last = byte
      }
      if (size > longest) controller.error(new Error(`it sent a message of more than ${longest / 1024 / 1024} MB`))
      else controller.enqueue(piece)
    }
  })
}

const withBound = (response: Response, longest: number): Response => {
  const { body, headers, status, statusText } = response
  if (body === null) return response
  const isStream = (headers.get("content-type") ?? "").includes("text/event-stream")
  return new Response(body.pipeThrough(bounded(isStream, longest)), { status, statusText, headers })
}

/** Makes it of a plain one; `longest` is in bytes. */
export const boundedFetch = (fetch: Fetch, longest = standard): Fetch => {
  const send = async (url: URL, init: RequestInit, left: number): Promise<Response> => {
    const response = await fetch(url, { ...init, redirect: "manual" })
    const location = response.headers.get("location")
    if (location === null || response.status < 300 || response.status > 399) return withBound(response, longest)
    const next = new URL(location, url)
    if (next.origin !== url.origin) throw new Error(`it redirects to ${next.origin}; name that URL in its config`)
    if (left === 0) throw new Error("it redirects again and again")
    return send(next, init, left - 1)
  }
  return (url, init = {}) => send(new URL(url), init, mostRedirects)
}

/** A transport, and how it ended. */
interface HttpTransport {
  readonly transport: Transport
  readonly ended: Effect.Effect<string>
  readonly whyEnded: () => string | undefined
  /** The status of the last answer that was an error; undefined if there was none. */
  readonly refusal: () => number | undefined
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
    let refusal: number | undefined
    const watched: McpHost["fetch"] = (to, init) =>
      send(to, init).then((response) => {
        if (response.status >= 400) refusal = response.status
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
    return { transport, ended: Deferred.await(ended), whyEnded: () => whyEnded, refusal: () => refusal }
  })
