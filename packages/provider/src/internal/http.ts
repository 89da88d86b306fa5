/**
 * Owns the sockets to providers: a `fetch` for the AI SDK over node:http. Sockets are pooled and closed with the scope; no
 * redirect is followed, so a key never goes to another host; an abort closes the socket.
 */
import * as Effect from "effect/Effect"
import type { Scope } from "effect/Scope"
import type { Agent, IncomingMessage, RequestOptions } from "node:http"
import { BrokenStream } from "./failure.ts"
import { cleanBody } from "./wellFormed.ts"

/** What the AI SDK calls to reach a server. */
export type Fetch = typeof globalThis.fetch

interface Transport {
  readonly agent: Agent
  readonly request: typeof import("node:http").request
}

/** Idle sockets are closed after this time, or earlier where the server announces it. */
const idle = 30_000

/** Nobody needs more of an error page. */
const errorLimit = 64 * 1024

const open = async (protocol: string): Promise<Transport> => {
  const { Agent, request } = protocol === "https:" ? await import("node:https") : await import("node:http")
  return { agent: new Agent({ keepAlive: true, scheduling: "lifo", timeout: idle }), request }
}

const listeners = new WeakMap<AbortSignal, () => void>()

/** Calls `run` when the request with this signal is answered with a success, before any of its body is read. */
export const onAnswer = (signal: AbortSignal, run: () => void): void => {
  listeners.set(signal, run)
}

/** What the AI SDK gives to `fetch`: plain headers and a body of text. */
interface Init {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  readonly signal?: AbortSignal
}

/** A `fetch` with a pool of its own. */
export const makeFetch: Effect.Effect<Fetch, never, Scope> = Effect.acquireRelease(
  Effect.sync(() => new Map<string, Promise<Transport>>()),
  (pool) =>
    Effect.promise(async () => {
      for (const { agent } of await Promise.all(pool.values())) agent.destroy()
    })
).pipe(Effect.map((pool) => {
  const fetch = async (input: string, init: Init) => {
    const url = new URL(input)
    let transport = pool.get(url.protocol)
    if (transport === undefined) {
      transport = open(url.protocol)
      pool.set(url.protocol, transport)
    }
    return send(await transport, url, init)
  }
  return fetch as Fetch
}))

const send = ({ agent, request }: Transport, url: URL, { body: text = "", headers, method = "GET", signal }: Init) =>
  new Promise<Response>((resolve, reject) => {
    const body = Buffer.from(cleanBody(text))
    const options: RequestOptions = {
      agent,
      method,
      // A server that compresses would hold deltas back.
      headers: { "accept-encoding": "identity", ...headers, "content-length": body.length }
    }
    const outgoing = request(url, options, (incoming) => {
      const kind = isSuccess(incoming) ? incoming.headers["content-type"] ?? "" : ""
      if (!/\b(?:json|html)\b/i.test(kind)) return resolve(toResponse(incoming, signal))
      // Read as a stream of events such a body looks like one that says nothing.
      incoming.destroy()
      reject(new BrokenStream("bad_response", `it answered with ${kind} in the place of a stream of events`))
    })
    // The `signal` option of node:http would also hit a socket that went back to the pool.
    const stop = () => outgoing.destroy()
    signal?.addEventListener("abort", stop)
    outgoing.on("close", () => signal?.removeEventListener("abort", stop))
    // Stays for good: a request that is stopped fails, even after it was answered.
    outgoing.on("error", reject)
    if (signal?.aborted === true) stop()
    else outgoing.end(body)
  })

const isSuccess = ({ statusCode = 0 }: IncomingMessage): boolean => statusCode >= 200 && statusCode <= 299

/** What the AI SDK reads of a response; a real `Response` would cost a tenth of a short call. */
const toResponse = (incoming: IncomingMessage, signal: AbortSignal | undefined): Response => {
  const status = incoming.statusCode ?? 0
  const ok = isSuccess(incoming)
  if (ok && signal !== undefined) listeners.get(signal)?.()
  const headers = new Map(Object.entries(incoming.headersDistinct).map(([name, values]) => [name, values?.join(", ")]))
  const response = {
    ok,
    status,
    statusText: incoming.statusMessage ?? "",
    headers,
    body: toStream(incoming, ok ? Infinity : errorLimit)
  }
  return response as unknown as Response
}

/** Reads only when asked, and then all that has arrived at once. */
const toStream = (incoming: IncomingMessage, limit: number): ReadableStream<Uint8Array> => {
  let failure: Error | undefined
  let wake: (() => void) | undefined
  let read = 0
  const notify = () => wake?.()
  incoming.on("readable", notify)
  incoming.on("end", notify)
  incoming.on("close", notify)
  incoming.on("error", (error) => {
    failure = error
    notify()
  })
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      for (;;) {
        const chunk: Buffer | null = incoming.read()
        if (chunk !== null) {
          read += chunk.length
          controller.enqueue(chunk)
          if (read >= limit) {
            controller.close()
            incoming.destroy()
          }
          return
        }
        if (incoming.readableEnded || failure !== undefined || incoming.destroyed) break
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      if (incoming.readableEnded) controller.close()
      else controller.error(failure ?? Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" }))
    },
    cancel() {
      incoming.destroy()
    }
  }, { highWaterMark: 0 })
}
