/**
 * Owns the sockets to providers, over node:http. They are pooled and closed with the scope; no redirect is followed, so a
 * key never goes to another host.
 */
import * as Effect from "effect/Effect"
import type { Scope } from "effect/Scope"
import type { Agent, ClientRequest, IncomingMessage } from "node:http"
import { NoConnection, WrongAnswer } from "./errors.ts"

interface Transport {
  readonly agent: Agent
  readonly request: typeof import("node:http").request
}

/** What is asked of a server. */
export interface Call {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Who waits for the answer. */
interface Caller {
  /** Called when the connection stands, with TLS where there is any. */
  readonly connected: () => void
  /** Called when the head of an answer is there, before any of its body is read. */
  readonly answered: (incoming: IncomingMessage) => void
  /** Called with each error, also one that is the consequence of closing. */
  readonly failed: (error: unknown) => void
}

/** A request that is on its way. */
interface Exchange {
  /** Gives the request up: an answer that is not whole is dropped, with its socket. */
  readonly close: () => void
  /** Gives it up once the server has been silent for so many milliseconds. */
  readonly closeAfter: (silence: number) => void
}

/** Asks a server. */
export type Send = (call: Call, caller: Caller) => Exchange

/** Idle sockets are closed after this time, or earlier where the server announces it. */
const idle = 30_000

/** Nobody needs more of an error page, in bytes. */
export const errorLimit = 64 * 1024

const open = async (protocol: string): Promise<Transport> => {
  const { Agent, request } = protocol === "https:" ? await import("node:https") : await import("node:http")
  return { agent: new Agent({ keepAlive: true, scheduling: "lifo", timeout: idle }), request }
}

/** A pool of sockets. */
export const makeSend: Effect.Effect<Send, never, Scope> = Effect.acquireRelease(
  Effect.sync(() => new Map<string, Promise<Transport>>()),
  (pool) =>
    Effect.promise(async () => {
      for (const { agent } of await Promise.all(pool.values())) agent.destroy()
    })
).pipe(Effect.map((pool) => (call, caller) => {
  let transport = pool.get(call.url.protocol)
  if (transport === undefined) {
    transport = open(call.url.protocol)
    pool.set(call.url.protocol, transport)
  }
  let outgoing: ClientRequest | undefined
  let closed = false
  const start = async (ready: Promise<Transport>) => {
    const found = await ready
    if (!closed) outgoing = begin(found, call, caller)
  }
  start(transport).catch(caller.failed)
  const close = () => {
    closed = true
    outgoing?.destroy()
  }
  return { close, closeAfter: (silence) => void outgoing?.setTimeout(silence, close) }
}))

const begin = ({ agent, request }: Transport, { body, headers, method, url }: Call, caller: Caller): ClientRequest => {
  const outgoing = request(url, {
    agent,
    method,
    // A server that compresses would hold deltas back.
    headers: { "accept-encoding": "identity", ...headers, "content-length": body.length }
  })
  let stands = false
  const connected = (): void => {
    stands = true
    caller.connected()
  }
  outgoing.on("socket", (socket) => {
    // One that is used again has connected before.
    if (outgoing.reusedSocket) connected()
    else socket.once(url.protocol === "https:" ? "secureConnect" : "connect", connected)
  })
  outgoing.on("response", caller.answered)
  // Stays for good: a request that is closed fails, even after it was answered.
  outgoing.on("error", (error) => caller.failed(stands ? error : new NoConnection(url, error)))
  outgoing.end(body)
  return outgoing
}

/** Whether this is the answer that was hoped for. */
export const isSuccess = ({ statusCode = 0 }: IncomingMessage): boolean => statusCode >= 200 && statusCode <= 299

/** What is wrong with a success that is something else than a stream of events: read as one, it would say nothing. */
export const wrongKind = (url: URL, { headers, statusCode = 0 }: IncomingMessage): WrongAnswer | undefined => {
  const kind = headers["content-type"] ?? ""
  return /\b(?:json|html|xml)\b/i.test(kind) ? new WrongAnswer(url, statusCode, kind) : undefined
}
