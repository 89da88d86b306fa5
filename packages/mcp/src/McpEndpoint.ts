/** Owns where clients reach an MCP service: by requests over HTTP, and by a pair of streams. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Readable, Writable } from "node:stream"
import { makeHttp } from "./internal/httpEndpoint.ts"
import { serveStreams } from "./internal/streamEndpoint.ts"
import type { McpService } from "./McpService.ts"

/** A client at the other end of two streams, which may be one socket. */
export interface McpStreams {
  readonly input: Readable
  readonly output: Writable
  /** The directory that the client works in, where that is known. */
  readonly directory: string | undefined
}

/** An endpoint. It speaks the revisions of 2025 and that of 2026-07-28. */
export interface McpEndpoint {
  /** Answers a request, which the caller has authenticated. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void
  /** Serves a client until its input ends. */
  readonly serve: (streams: McpStreams) => Effect.Effect<void>
}

/** Makes an endpoint. When the scope closes, all of its connections end. */
export const make = (service: McpService): Effect.Effect<McpEndpoint, never, Scope.Scope> =>
  Effect.map(makeHttp(service), (answer) => ({ answer, serve: serveStreams(service) }))
