/** A server of any protocol of events: it answers with what a function makes of a request, and remembers all requests. */
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"

/** A request: its body, of the shape that the protocol has. */
export interface WireRequest<A> {
  readonly body: A
  readonly url: string
  readonly headers: IncomingMessage["headers"]
}

/** The server. */
export interface WireServer<A> {
  readonly url: string
  readonly requests: ReadonlyArray<WireRequest<A>>
  readonly close: () => Promise<void>
}

/** Starts a server that answers with these events. */
export const startWireServer = async <A>(
  answer: (request: WireRequest<A>) => ReadonlyArray<object>
): Promise<WireServer<A>> => {
  const requests: Array<WireRequest<A>> = []
  const server = createServer(async (incoming, response) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as A
    const request = { body, url: incoming.url ?? "", headers: incoming.headers }
    requests.push(request)
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.end(answer(request).map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    }
  }
}
