/** Passes requests and responses between Node's HTTP server and the web's types, which the SDK takes. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import type { ReadableStream as NodeStream } from "node:stream/web"

/** A request, which is aborted when its client goes away before it has the response. */
export const requestOf = (request: IncomingMessage, response: ServerResponse): Request => {
  const { headers, method = "GET", url = "/" } = request
  const gone = new AbortController()
  response.once("close", () => {
    if (!response.writableFinished) gone.abort()
  })
  const fields = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value] as [string, string]]
  )
  return new Request(`http://${headers.host ?? "localhost"}${url}`, {
    method,
    headers: fields,
    signal: gone.signal,
    ...(method === "GET" || method === "HEAD" ? {} : {
      body: Readable.toWeb(request) as ReadableStream<Uint8Array>,
      duplex: "half"
    })
  })
}

/** Sends a response, as fast as its client reads it. */
export const send = (response: ServerResponse, { body, headers, status }: Response): void => {
  for (const [name, value] of headers) response.setHeader(name, value)
  response.writeHead(status)
  if (body === null) {
    response.end()
    return
  }
  response.flushHeaders()
  const source = Readable.fromWeb(body as NodeStream<Uint8Array>)
  // A client that disconnects ends its stream. Nobody needs the errors after that.
  source.once("error", () => response.destroy())
  response.once("close", () => source.destroy())
  source.pipe(response)
}
