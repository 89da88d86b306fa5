/** An MCP server over HTTP without the SDK: answers as JSON, and counts sessions. */
import * as Effect from "effect/Effect"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"

interface Web {
  readonly url: string
  readonly headers: ReadonlyArray<IncomingHttpHeaders>
  /** From now on it knows no session that it gave away before. */
  readonly forget: () => void
}

/** Starts one; `to` is where `/away` redirects to. */
export const web = (to = "http://127.0.0.1:1/mcp") =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<{ readonly web: Web; readonly close: () => void }>((resume) => {
        const headers: Array<IncomingHttpHeaders> = []
        let session = 0
        const server = createServer((request, response) => {
          if (request.url === "/away") return void response.writeHead(307, { location: to }).end()
          if (request.url === "/here") return void response.writeHead(307, { location: "/mcp" }).end()
          if (request.method !== "POST") return void response.writeHead(405).end()
          let body = ""
          request.on("data", (bytes: Buffer) => body += bytes.toString("utf8"))
          request.once("end", () => {
            headers.push(request.headers)
            const { id, method, params } = JSON.parse(body)
            const known = request.headers["mcp-session-id"]
            if (known !== undefined && known !== String(session)) return void response.writeHead(404).end()
            if (id === undefined) return void response.writeHead(202).end()
            const results: Readonly<Record<string, unknown>> = {
              initialize: {
                protocolVersion: params?.protocolVersion,
                capabilities: { tools: {} },
                serverInfo: { name: "web", version: "1" }
              },
              "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
              "tools/call": { content: [{ type: "text", text: `session ${session}` }] }
            }
            const result = results[method]
            response.writeHead(200, { "content-type": "application/json", "mcp-session-id": String(session) })
            response.end(JSON.stringify({
              jsonrpc: "2.0",
              id,
              ...(result === undefined ? { error: { code: -32601, message: "Method not found" } } : { result })
            }))
          })
        })
        server.listen(0, "127.0.0.1", () =>
          resume(Effect.succeed({
            web: {
              url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
              headers,
              forget: () => void session++
            },
            close: () => {
              server.close()
              server.closeAllConnections()
            }
          })))
      }),
      ({ close }) => Effect.sync(close)
    ),
    ({ web: started }) => started
  )
