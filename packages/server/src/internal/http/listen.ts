/** Owns the socket: accepts connections within their limits, and passes on the requests that the gate accepts. */
import type { Problem } from "@skein/api/Problem"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { ListenFailed } from "../../ListenFailed.ts"
import { headersPatience, requestPatience } from "../../ServerOptions.ts"
import { bringsArchive } from "../readBody.ts"
import { answerSocket, internal, leaving, refuse, refuseSocket } from "../respond.ts"

/** The maximum number of clients. */
const mostConnections = 20_000

/** How long a connection may be idle, in milliseconds. */
const silence = 120_000

/** A broken connection needs no answer, and must not end the process. */
const ignoreBroken = () => undefined

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** A socket that accepts requests. */
export interface Listening {
  readonly port: number
  /** Begins to answer. Until then, connections wait. `upgrade` takes sockets that are to speak something else. */
  readonly answer: (
    gate: (request: IncomingMessage) => Problem | undefined,
    handler: Handler,
    upgrade: (request: IncomingMessage, socket: Duplex) => void
  ) => void
  /** Accepts no more connections or requests, and tells those who wait for an answer to ask the next server. */
  readonly leave: Effect.Effect<void>
}

/** The connections on which an archive arrives. */
const archives = new WeakSet<Duplex>()

/** How long a client may take, in milliseconds. */
interface Patience {
  /** For the headers of a request. */
  readonly headers: number
  /** For the whole request. */
  readonly request: number
}

const usual: Patience = { headers: headersPatience, request: requestPatience }

const make = ({ headers, request }: Patience): Server => {
  const server = createServer({
    headersTimeout: headers,
    requestTimeout: request,
    connectionsCheckingInterval: Math.min(1_000, headers),
    maxHeaderSize: 16 * 1024,
    keepAliveTimeout: 10_000,
    // The gate reports requests without a Host header.
    requireHostHeader: false,
    noDelay: true
  })
  server.timeout = silence
  server.maxConnections = mostConnections
  // An archive takes as long as it takes: its route notices when no more of it comes.
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (error.code !== "ERR_HTTP_REQUEST_TIMEOUT" || !archives.has(socket)) refuseSocket(error, socket)
  })
  return server
}

/** Listens until the scope closes. Then all connections are closed. */
export const listen = (
  hostname: string,
  port: number,
  patience = usual
): Effect.Effect<Listening, ListenFailed, Scope.Scope> =>
  Effect.gen(function*() {
    const server = yield* Effect.acquireRelease(Effect.sync(() => make(patience)), (made) =>
      Effect.async<void>((resume) => {
        made.close(() =>
          resume(Effect.void)
        )
        made.closeAllConnections()
      }))
    yield* Effect.async<void, ListenFailed>((resume) => {
      server.once(
        "error",
        ({ code = "unknown", message }: NodeJS.ErrnoException) =>
          resume(new ListenFailed({ code, message: ListenFailed.explain(hostname, port, code, message) }))
      )
      server.listen({ host: hostname, port, backlog: 1_024 }, () => resume(Effect.void))
    })
    const runtime = yield* Effect.runtime<never>()
    /** A fault of the server, which must not end it: what is thrown here would end the process. */
    const guarded = (work: () => void, fail: () => void) => {
      try {
        work()
      } catch (fault) {
        Runtime.runFork(runtime)(Effect.logError("A request failed", Cause.die(fault)))
        fail()
      }
    }
    const address = server.address()
    const waiting = new Map<ServerResponse, IncomingMessage>()
    let isLeaving = false
    const leave = () => {
      isLeaving = true
      server.close()
      // Answers that have begun are streams, or are about to end.
      for (const [response, request] of waiting) if (!response.headersSent) refuse(request, response, leaving("cut"))
    }
    return {
      port: typeof address === "object" && address !== null ? address.port : port,
      answer: (gate, handler, upgrade) => {
        const onRequest = (request: IncomingMessage, response: ServerResponse) => {
          response.on("error", ignoreBroken)
          const refused = gate(request) ?? (isLeaving ? leaving("refused") : undefined)
          if (refused !== undefined) return refuse(request, response, refused)
          waiting.set(response, request)
          if (bringsArchive(request.url)) archives.add(request.socket)
          response.once("close", () => {
            waiting.delete(response)
            archives.delete(request.socket)
          })
          // The route decides how long an answer may take.
          request.socket.setTimeout(0)
          guarded(() => handler(request, response), () => {
            if (response.headersSent) response.destroy()
            else refuse(request, response, internal)
          })
        }
        server.on("request", onRequest)
        server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
          socket.on("error", ignoreBroken)
          const refused = gate(request)
          if (refused !== undefined) return answerSocket(socket, refused)
          if (head.length > 0) socket.unshift(head)
          guarded(() => upgrade(request, socket), () => answerSocket(socket, internal))
        })
        server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
          if (gate(request) === undefined) response.writeContinue()
          onRequest(request, response)
        })
      },
      leave: Effect.sync(leave)
    }
  })
