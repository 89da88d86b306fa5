/** Answers requests over HTTP: those of 2026-07-28 each by itself, those of 2025 in the sessions that they name. */
import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport
} from "@modelcontextprotocol/server"
import * as MonotonicClock from "@skein/core/MonotonicClock"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import type { ReadableStream as NodeStream } from "node:stream/web"
import type { McpService } from "../McpService.ts"
import { tellChanged } from "./streamEndpoint.ts"

/** The response. */
const refusal = (status: number, code: number, message: string): Response =>
  Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status })

/** A request, which is aborted when its client goes away before it has the response. */
const requestOf = (request: IncomingMessage, response: ServerResponse): Request => {
  const { headers, method = "GET", url = "/" } = request
  const gone = new AbortController()
  response.once("close", () => {
    if (!response.writableFinished) gone.abort()
  })
  const fields = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value] as [string, string]]
  )
  return new Request(`http://${headers.host ?? "localhost"}${url}`, {
    method,
    headers: fields,
    signal: gone.signal,
    ...(method === "GET" || method === "HEAD" ? {} : {
      body: Readable.toWeb(request) as ReadableStream<Uint8Array>,
      duplex: "half"
    })
  })
}

/** Sends a response, as fast as its client reads it. */
const send = (response: ServerResponse, { body, headers, status }: Response): void => {
  for (const [name, value] of headers) response.setHeader(name, value)
  response.writeHead(status)
  if (body === null) {
    response.end()
    return
  }
  response.flushHeaders()
  const source = Readable.fromWeb(body as NodeStream<Uint8Array>)
  // A client that disconnects ends its stream. Nobody needs the errors after that.
  source.once("error", () => response.destroy())
  response.once("close", () => source.destroy())
  source.pipe(response)
}

/** How many sessions there may be at once. */
const most = 1_000

/** How long a session may be silent, with no request and no stream open, in milliseconds. */
const silence = 10 * 60_000

interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly scope: Scope.CloseableScope
  /** How many of its responses are still being sent. */
  open: number
  seen: number
}

/** Calls a function once the response to a request was sent, or its client has disconnected. */
type WhenClosed = (closed: () => void) => void

/** Makes the function that answers. */
const makeSessions = Effect.fnUntraced(function*(service: McpService, maxRequestBodySize: number) {
  const sessions = new Map<string, Session>()
  const clock = yield* Effect.clock
  const around = yield* Effect.scope
  const fork = yield* FiberSet.makeRuntime<never>()
  const end = (session: Session) => Scope.close(session.scope, Exit.void)

  const begin = Effect.gen(function*() {
    const scope = yield* Scope.fork(around, ExecutionStrategy.sequential)
    const { makeServer, resourcesChanged } = yield* Scope.extend(
      service.open({ directory: undefined, isLasting: true }),
      scope
    )
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      maxRequestBodySize,
      onsessioninitialized: (id) => void sessions.set(id, session),
      onsessionclosed: () => void fork(end(session))
    })
    const session: Session = { transport, scope, open: 0, seen: MonotonicClock.elapsed(clock) }
    const server = makeServer()
    yield* Scope.addFinalizer(
      scope,
      Effect.suspend(() => {
        if (transport.sessionId !== undefined) sessions.delete(transport.sessionId)
        return Effect.promise(() => server.close())
      })
    )
    yield* Effect.promise(() => server.connect(transport))
    yield* Effect.forkIn(Effect.forever(Effect.zipRight(resourcesChanged, tellChanged(server))), scope)
    return session
  })

  const pass = (session: Session, request: Request, whenClosed: WhenClosed) => {
    session.open += 1
    whenClosed(() => {
      session.open -= 1
      session.seen = MonotonicClock.elapsed(clock)
    })
    return Effect.tryPromise(() => session.transport.handleRequest(request))
  }

  /** The first request of a session; what does not begin one leaves nothing behind. */
  const first = (request: Request, whenClosed: WhenClosed) =>
    Effect.gen(function*() {
      const session = yield* begin
      const response = yield* Effect.onError(pass(session, request, whenClosed), () => end(session))
      if (session.transport.sessionId === undefined) yield* end(session)
      return response
    })

  const endSilent = Effect.gen(function*() {
    const now = yield* MonotonicClock.now
    const silent = [...sessions.values()].filter(({ open, seen }) => open === 0 && now - seen > silence)
    yield* Effect.forEach(silent, end, { discard: true })
  })
  yield* Effect.forkScoped(Effect.repeat(endSilent, Schedule.spaced("30 seconds")))

  return {
    answer: (request: Request, whenClosed: WhenClosed) => {
      const id = request.headers.get("mcp-session-id")
      if (id === null) {
        return sessions.size < most
          ? first(request, whenClosed)
          : Effect.succeed(refusal(503, -32_000, "Too many sessions. End some, or try again later."))
      }
      const session = sessions.get(id)
      return session === undefined
        ? Effect.succeed(refusal(404, -32_001, "Session not found. Initialize a new one."))
        : pass(session, request, whenClosed)
    }
  }
})

/** The largest body of a request, in bytes. */
const largest = 4 * 1024 * 1024

/** Makes the function that answers. */
export const makeHttp = Effect.fnUntraced(function*(service: McpService) {
  const sessions = yield* makeSessions(service, largest)
  const { makeServer, resourcesChanged } = yield* service.open({ directory: undefined, isLasting: false })
  const modern = yield* Effect.acquireRelease(
    Effect.sync(() => createMcpHandler(makeServer, { legacy: "reject", maxRequestBodySize: largest })),
    (handler) => Effect.promise(() => handler.close())
  )
  yield* Effect.forkScoped(
    Effect.forever(Effect.zipRight(resourcesChanged, Effect.sync(() => modern.notify.resourcesChanged())))
  )
  const fork = yield* FiberSet.makeRuntime<never>()

  const respond = (request: Request, whenClosed: WhenClosed) =>
    Effect.gen(function*() {
      const isLegacy = yield* Effect.tryPromise(() =>
        isLegacyRequest(request, undefined, { maxRequestBodySize: largest })
      )
      return yield* isLegacy ? sessions.answer(request, whenClosed) : Effect.tryPromise(() => modern.fetch(request))
    })

  return (request: IncomingMessage, response: ServerResponse): void => {
    const answered = Effect.flatMap(
      Effect.exit(
        Effect.suspend(() => respond(requestOf(request, response), (closed) => void response.once("close", closed)))
      ),
      (exit) =>
        Effect.gen(function*() {
          if (exit._tag === "Success") return send(response, exit.value)
          // A client that has gone away needs no answer.
          if (response.destroyed) return
          yield* Effect.logError("A request of MCP failed", exit.cause)
          send(response, refusal(500, -32_603, "Internal error"))
        })
    )
    fork(answered)
  }
})
