/** Reads a client's messages from a stream of lines. What is no message gets an error, and the connection continues. */
import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  ProtocolErrorCode,
  serializeMessage,
  type Transport
} from "@modelcontextprotocol/server"
import * as Either from "effect/Either"
import type { Readable, Writable } from "node:stream"
import { makeFrames } from "../stdio/frames.ts"

/** The longest message, in bytes. */
const longest = 8 * 1024 * 1024

type ID = string | number

/** The id of what is no valid request, as far as it has one. */
const idOf = (json: unknown): ID | null => {
  const id: unknown = typeof json === "object" && json !== null ? Reflect.get(json, "id") : undefined
  return typeof id === "string" || typeof id === "number" ? id : null
}

/** The transport of a client at the other end of two streams. `onEnd` hears that it is gone, on either side. */
export class Wire implements Transport {
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
