/** The official client of MCP against Skein as a server: over streams and over HTTP, by both revisions. */
import {
  Client,
  type ClientCapabilities,
  type ElicitRequest,
  type ElicitResult,
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type Transport
} from "@modelcontextprotocol/client"
import * as McpEndpoint from "@skein/mcp/McpEndpoint"
import * as McpServing from "@skein/mcp/McpServing"
import { PlaceRefused, type ServingHost } from "@skein/mcp/ServingHost"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { PassThrough } from "node:stream"

/** A machine on which `/outside` may not be worked in. */
const host: ServingHost = {
  version: "1.2.3",
  place: (directory) =>
    directory.startsWith("/outside")
      ? new PlaceRefused({ message: `${directory} is not trusted` })
      : Effect.succeed({ directory, projectID: directory })
}

/** A way to reach a server. */
export interface Way {
  readonly over: "streams" | "http"
  readonly revision: "2025-11-25" | "2026-07-28"
}

/** All ways. */
export const ways: ReadonlyArray<Way> = (["streams", "http"] as const).flatMap((over) =>
  (["2025-11-25", "2026-07-28"] as const).map((revision) => ({ over, revision }))
)

/** Messages as lines of two streams. */
class Lines implements Transport {
  onclose?: () => void
  onmessage?: (message: JSONRPCMessage) => void
  #rest = ""
  readonly input: PassThrough
  readonly output: PassThrough
  constructor(input: PassThrough, output: PassThrough) {
    this.input = input
    this.output = output
  }
  async start() {
    this.output.setEncoding("utf8").on("data", (text: string) => {
      const lines = `${this.#rest}${text}`.split("\n")
      this.#rest = lines.pop() ?? ""
      for (const line of lines) this.onmessage?.(JSON.parse(line))
    })
  }
  async send(message: JSONRPCMessage) {
    this.input.write(`${JSON.stringify(message)}\n`)
  }
  async close() {
    this.input.end()
    this.onclose?.()
  }
}

/** An answer as it came. */
interface Answered {
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** How a client answers forms; it cannot show any where this is absent. */
type Answers = (request: ElicitRequest["params"]) => ElicitResult | Promise<ElicitResult>

/** Connects clients to an endpoint over the services around, in the given way. */
export const makeEndpointOn = Effect.fnUntraced(function*(more: Partial<ServingHost>) {
  const endpoint = yield* McpEndpoint.make(yield* McpServing.make({ ...host, ...more }))
  const web = yield* Effect.acquireRelease(
    Effect.promise(() =>
      new Promise<ReturnType<typeof createServer>>((resolve) => {
        const server = createServer(endpoint.answer)
        server.listen(0, "127.0.0.1", () => resolve(server))
      })
    ),
    (server) =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )
  const url = new URL(`http://127.0.0.1:${(web.address() as AddressInfo).port}/mcp`)

  const connect = (
    { over, revision }: Way,
    answers?: Answers,
    capabilities: ClientCapabilities = {},
    onChanged?: () => void
  ) =>
    Effect.gen(function*() {
      const client = new Client({ name: "tester", version: "1" }, {
        capabilities: { ...capabilities, ...(answers === undefined ? {} : { elicitation: { form: {} } }) },
        ...(onChanged === undefined ? {} : {
          listChanged: { resources: { autoRefresh: false, debounceMs: 0, onChanged } }
        }),
        versionNegotiation: { mode: revision === "2026-07-28" ? { pin: revision } : "legacy" }
      })
      if (answers !== undefined) {
        client.setRequestHandler("elicitation/create", ({ params }) => answers(params))
      }
      const input = new PassThrough()
      const output = new PassThrough()
      const served = over === "streams"
        ? yield* Effect.fork(endpoint.serve({ input, output, directory: "/project" }))
        : undefined
      const transport = over === "streams" ? new Lines(input, output) : new StreamableHTTPClientTransport(url)
      yield* Effect.promise(() => client.connect(transport))
      yield* Effect.addFinalizer(() => Effect.promise(() => client.close()))
      return {
        client,
        /** Waits until the server has let go of the connection. */
        ended: served === undefined ? Effect.void : Effect.asVoid(Fiber.await(served))
      }
    })

  /** A connection over streams whose messages a test writes itself. */
  const connectRaw = Effect.gen(function*() {
    const input = new PassThrough()
    const output = new PassThrough()
    const lines = new Lines(input, output)
    const waiting = new Map<unknown, (answer: Answered) => void>()
    Object.assign(lines, {
      onmessage: (message: JSONRPCMessage) => "id" in message && waiting.get(message.id)?.(message as Answered)
    })
    yield* Effect.promise(() => lines.start())
    const served = yield* Effect.fork(endpoint.serve({ input, output, directory: "/project" }))
    let id = 0
    return {
      request: (method: string, params: Record<string, unknown>) =>
        Effect.promise(() =>
          new Promise<Answered>((resolve) => {
            id += 1
            waiting.set(id, resolve)
            input.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`)
          })
        ),
      close: Effect.zipRight(Effect.sync(() => void input.end()), Fiber.await(served))
    }
  })
  return { connect, connectRaw, url }
})

/** The same on a machine without peculiarities. */
export const makeEndpoint = makeEndpointOn({})
