/**
 * Owns the sockets to providers, over node:http. It pools them and closes them with the scope. It follows no redirects, so
 * a key never reaches another host.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { Scope } from "effect/Scope"
import type { Agent, ClientRequest, IncomingMessage } from "node:http"
import { NoConnection } from "./errors.ts"

interface Transport {
  readonly agent: Agent
  readonly request: typeof import("node:http").request
}

/** A request. */
export interface Call {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** The callbacks of a request. */
interface Caller {
  /** Called when the connection is established, including TLS. */
  readonly connected: () => void
  /** Called with the response head, before any of the body is read. */
  readonly answered: (incoming: IncomingMessage) => void
  /** Called with each error, even one caused by closing. */
  readonly failed: (error: unknown) => void
}

/** A request in flight. */
interface Exchange {
  /** Aborts the request. An incomplete answer is dropped together with its socket. */
  readonly close: () => void
  /** Aborts once the server has been silent for this many milliseconds. */
  readonly closeAfter: (silence: number) => void
}

/** Sends a request. */
export type Send = (call: Call, caller: Caller) => Exchange

/** Idle sockets close after this time, or earlier if the server says so. */
const idle = 30_000

/** How much of an error page to read, in bytes. */
export const errorLimit = 64 * 1024

const open = (protocol: string): Transport => {
  // `import()` reads every export of node:http, and one of these loads all of undici.
  const { Agent, request } = process.getBuiltinModule(protocol === "https:" ? "node:https" : "node:http")
  return { agent: new Agent({ keepAlive: true, scheduling: "lifo", timeout: idle }), request }
}

/** A pool of sockets. */
export const makeSend: Effect.Effect<Send, never, Scope> = Effect.acquireRelease(
  Effect.sync(() => new Map<string, Transport>()),
  (pool) =>
    Effect.sync(() => {
      for (const { agent } of pool.values()) agent.destroy()
    })
).pipe(Effect.map((pool) => (call, caller) => {
  let transport = pool.get(call.url.protocol)
  if (transport === undefined) {
    transport = open(call.url.protocol)
    pool.set(call.url.protocol, transport)
  }
  const begun = Either.try({ try: () => begin(transport, call, caller), catch: (error) => error })
  if (Either.isLeft(begun)) {
    // For example a key with a line break in it. The caller has nothing to close yet.
    queueMicrotask(() => caller.failed(begun.left))
    return { close: () => undefined, closeAfter: () => undefined }
  }
  const outgoing = begun.right
  const close = () => void outgoing.destroy()
  return { close, closeAfter: (silence) => void outgoing.setTimeout(silence, close) }
}))

const begin = ({ agent, request }: Transport, { body, headers, method, url }: Call, caller: Caller): ClientRequest => {
  const outgoing = request(url, {
    agent,
    method,
    // Compression would delay deltas.
    headers: { "accept-encoding": "identity", ...headers, "content-length": body.length }
  })
  let stands = false
  const connected = (): void => {
    stands = true
    caller.connected()
  }
  outgoing.on("socket", (socket) => {
    // A reused socket is already connected.
    if (outgoing.reusedSocket) connected()
    else socket.once(url.protocol === "https:" ? "secureConnect" : "connect", connected)
  })
  outgoing.on("response", caller.answered)
  // Never removed: a closed request emits an error even after its answer.
  outgoing.on("error", (error) => caller.failed(stands ? error : new NoConnection(url, error)))
  outgoing.end(body)
  return outgoing
}

/** Whether this is a stream of events. */
export const isSuccess = ({ statusCode = 0 }: IncomingMessage): boolean => statusCode >= 200 && statusCode <= 299
