/** Answers requests over HTTP: those of 2026-07-28 each by itself, those of 2025 in the sessions that they name. */
import { createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { McpService } from "../../McpService.ts"
import { refusal } from "./refusal.ts"
import { makeSessions, type WhenClosed } from "./sessions.ts"
import { requestOf, send } from "./web.ts"

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
