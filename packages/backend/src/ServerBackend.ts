/** Owns the backend over a server: the same sessions, which go on when this process ends. */
import * as HttpClient from "@effect/platform/HttpClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import { Backend } from "./Backend.ts"
import { makeLink } from "./internal/server/Link.ts"
import { makeAsks, makeProjects, makeTaskControl } from "./internal/server/others.ts"
import { makeSessions } from "./internal/server/sessions.ts"
import { makeWatching } from "./internal/server/watch.ts"

/** A server, and what to authenticate with. */
export interface ServerTarget {
  /** Such as `http://127.0.0.1:4096`. */
  readonly url: string
  readonly token: Redacted.Redacted
  readonly version: string
}

/** Which server, and how it is found again. */
export interface ServerOptions {
  /** The server as it was found. */
  readonly server: ServerTarget
  /** Finds it again when it does not answer: one that was started again has another port and another token. */
  readonly locate?: Effect.Effect<Option.Option<ServerTarget>>
  /** How long it may be away, in milliseconds; 30 s by default. */
  readonly patience?: number
}

/** The sessions of a server. What this process began goes on when the layer closes. */
export const layer = (options: ServerOptions): Layer.Layer<Backend, never, HttpClient.HttpClient> =>
  Layer.effect(
    Backend,
    Effect.gen(function*() {
      const http = yield* Effect.context<HttpClient.HttpClient>()
      const link = yield* makeLink(options)
      const watching = makeWatching(link, http)
      const { url, version } = options.server
      return {
        where: { _tag: "Server", url, version },
        sessions: makeSessions(watching, link),
        watch: watching,
        asks: makeAsks(link),
        tasks: makeTaskControl(link),
        projects: makeProjects(link),
        intact: Effect.void
      }
    })
  )
