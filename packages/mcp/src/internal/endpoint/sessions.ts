/** Owns the sessions that clients of 2025 have over HTTP: each is a connection, which ends with its session. */
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server"
import * as MonotonicClock from "@skein/core/MonotonicClock"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { randomUUID } from "node:crypto"
import type { McpService } from "../../McpService.ts"
import { refusal } from "./refusal.ts"
import { tellChanged } from "./streams.ts"

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
export type WhenClosed = (closed: () => void) => void

/** Makes the function that answers. */
export const makeSessions = Effect.fnUntraced(function*(service: McpService, maxRequestBodySize: number) {
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
