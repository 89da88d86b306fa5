/** Serves one client over two streams, of which each line is a message; what is no message gets an error. */
import {
  type JSONRPCMessage,
  type McpServer,
  parseJSONRPCMessage,
  ProtocolErrorCode,
  serializeMessage,
  type Server,
  type Transport
} from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { Readable, Writable } from "node:stream"
import type { McpService } from "../McpService.ts"
import { makeFrames } from "./frames.ts"

/** The longest message, in bytes. */
const longest = 8 * 1024 * 1024

type ID = string | number

/** The id of what is no valid request, as far as it has one. */
const idOf = (json: unknown): ID | null => {
  const id: unknown = typeof json === "object" && json !== null ? Reflect.get(json, "id") : undefined
  return typeof id === "string" || typeof id === "number" ? id : null
}

/** The transport of a client at the other end of two streams. `onEnd` hears that it is gone, on either side. */
class Wire implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport["onmessage"]
  readonly #input: Readable
  readonly #output: Writable
  readonly #onEnd: () => void
  readonly #frames = makeFrames(longest)
  /** The requests that wait for their answers. */
  readonly #open = new Set<ID>()
  #isClosed = false

  constructor(input: Readable, output: Writable, onEnd: () => void) {
    this.#input = input
    this.#output = output
    this.#onEnd = onEnd
  }

  readonly #end = () => void this.close()
  readonly #take = (piece: Buffer | string) => {
    for (const line of this.#frames.push(Buffer.from(piece))) {
      if (this.#isClosed) return
      this.#hear(line)
    }
  }

  #refuse(id: ID | null, code: number, message: string) {
    this.onerror?.(new Error(message))
    this.#output.write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } })}\n`)
  }

  #hear(line: string | undefined) {
    const { InvalidRequest, ParseError } = ProtocolErrorCode
    if (line === undefined) {
      return this.#refuse(null, InvalidRequest, `Invalid request: a message of more than ${longest / 1024 / 1024} MB`)
    }
    if (line.trim() === "") return
    const json = Either.try((): unknown => JSON.parse(line))
    if (Either.isLeft(json)) return this.#refuse(null, ParseError, "Parse error: the line is not JSON")
    const message = Either.try(() => parseJSONRPCMessage(json.right))
    if (Either.isLeft(message)) {
      return this.#refuse(idOf(json.right), InvalidRequest, "Invalid request: no message of JSON-RPC 2.0")
    }
    this.#pass(message.right)
  }

  #pass(message: JSONRPCMessage) {
    if ("method" in message && "id" in message) {
      if (this.#open.has(message.id)) {
        return this.#refuse(
          message.id,
          ProtocolErrorCode.InvalidRequest,
          "Invalid request: another request of this id waits for its answer"
        )
      }
      this.#open.add(message.id)
    }
    // A cancelled request gets no answer.
    if ("method" in message && message.method === "notifications/cancelled") {
      this.#open.delete(message.params?.["requestId"] as ID)
    }
    this.onmessage?.(message)
  }

  async start() {
    this.#input.on("data", this.#take).on("end", this.#end).on("close", this.#end)
    this.#input.on("error", this.#end)
    this.#output.on("error", this.#end)
    if (this.#input.readableEnded || this.#input.destroyed) this.#end()
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (!("method" in message) && message.id !== undefined) this.#open.delete(message.id)
    return this.#isClosed
      ? Promise.reject(new Error("the client has gone away"))
      : new Promise((resolve, reject) => {
        this.#output.write(serializeMessage(message), (error) => {
          if (error) reject(error)
          else resolve()
        })
      })
  }

  async close() {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#input.off("data", this.#take).off("end", this.#end).off("close", this.#end)
    if (this.#input.listenerCount("data") === 0) this.#input.pause()
    this.onclose?.()
    this.#onEnd()
  }
}

/** Tells a client that its list of resources has changed. One that has gone need not know. */
export const tellChanged = (server: McpServer | Server): Effect.Effect<void> =>
  Effect.catchAll(
    Effect.tryPromise(async () => {
      await server.sendResourceListChanged()
    }),
    ({ error }) => Effect.logDebug("A client could not be notified of new resources", String(error))
  )

/** Serves until the input ends, or until the output cannot be written. */
export const serveStreams = (service: McpService) =>
({ directory, input, output }: {
  readonly directory: string | undefined
  readonly input: Readable
  readonly output: Writable
}): Effect.Effect<void> =>
  Effect.scoped(Effect.gen(function*() {
    const opened = yield* service.open({ directory, isLasting: true })
    // One for the revision that the client turns out to speak.
    const servers: Array<ReturnType<typeof opened.makeServer>> = []
    const makeServer = () => {
      const server = opened.makeServer()
      servers.push(server)
      return server
    }
    yield* Effect.forkScoped(Effect.forever(Effect.zipRight(
      opened.resourcesChanged,
      Effect.forEach(servers, tellChanged, { discard: true })
    )))
    const faults: Array<string> = []
    yield* Effect.async<void>((resume) => {
      const handle = serveStdio(makeServer, {
        transport: new Wire(input, output, () => resume(Effect.void)),
        onerror: ({ message }) => void (faults.length < 10 && faults.push(message))
      })
      return Effect.promise(() => handle.close())
    })
    if (faults.length > 0) yield* Effect.logDebug("A client of MCP sent what is no message", ...faults)
  }))
