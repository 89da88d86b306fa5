/** Sends requests to one server: follows it to no other host, and takes no message that is too long. */
import type { McpHost } from "../../McpHost.ts"

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
