/** The client at the other end: its capabilities, the updates to it, and the requests to it. */
import type {
  AgentConnection,
  AnyMessage,
  ClientCapabilities,
  ClientRequestMethod,
  ClientRequestParamsByMethod,
  JsonRpcId,
  Stream
} from "@agentclientprotocol/sdk/unstable"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { Update } from "../encode/common.ts"

/** Why a client did not do what it was asked: it refused, or it is gone. */
export interface ClientRefused {
  readonly _tag: "ClientRefused"
  readonly message: string
}

/** The client of a connection. */
export interface Client {
  /** What it said that it can; nothing before it did. */
  capabilities: ClientCapabilities
  /** Whether it is gone: the connection is closed. */
  readonly isGone: () => boolean
  /** Tells it something. Order is kept; a client that is gone hears nothing. */
  readonly tell: (update: Update) => void
  /** Asks it something; its answer may be anything. Interruption tells it that nobody waits any more. */
  readonly ask: <M extends ClientRequestMethod>(
    method: M,
    params: ClientRequestParamsByMethod[M]
  ) => Effect.Effect<unknown, ClientRefused>
}

/** Makes it. */
export const makeClient = ({ client: context, signal }: AgentConnection): Client => ({
  capabilities: {},
  isGone: () => signal.aborted,
  // The connection itself reports that the client is gone.
  tell: (update) => void context.notify("session/update", update).catch(() => undefined),
  ask: (method, params) =>
    Effect.tryPromise({
      try: (cancellationSignal): Promise<unknown> =>
        context.request(method, params, { cancellationSignal, stopWaitingOnCancel: true }),
      catch: (error): ClientRefused => ({
        _tag: "ClientRefused",
        message: error instanceof Error ? error.message : String(error)
      })
    })
})

/** A stream that says when the answer to a request was handed on to be written. */
export const answering = (stream: Stream): {
  readonly stream: Stream
  /** Sends a message beside the connection. One that is closed gets nothing. */
  readonly send: (message: AnyMessage) => void
  /** Waits until a request has its answer. Only one may wait for each. */
  readonly answered: (id: JsonRpcId) => Effect.Effect<void>
} => {
  const waiting = new Map<JsonRpcId, Deferred.Deferred<void>>()
  const writer = stream.writable.getWriter()
  const writable = new WritableStream<AnyMessage>({
    write: async (message) => {
      await writer.write(message)
      if ("method" in message || message.id === undefined) return
      const waits = waiting.get(message.id)
      waiting.delete(message.id)
      if (waits !== undefined) Deferred.unsafeDone(waits, Effect.void)
    },
    close: () => writer.close(),
    abort: (reason) => writer.abort(reason)
  })
  return {
    stream: { readable: stream.readable, writable },
    // The connection itself reports that the client is gone.
    send: (message) => void writer.write(message).catch(() => undefined),
    answered: (id) =>
      Effect.flatMap(Deferred.make<void>(), (waits) => {
        waiting.set(id, waits)
        return Deferred.await(waits)
      })
  }
}
