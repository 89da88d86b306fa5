/** Owns the backend over a server: the same sessions, which go on when this process ends. */
import * as HttpClient from "@effect/platform/HttpClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Backend } from "./Backend.ts"
import { makeLink } from "./internal/server/Link.ts"
import { makeAsks, makeProjects, makeTaskControl } from "./internal/server/others.ts"
import { makeSessions } from "./internal/server/sessions.ts"
import { makeWatching } from "./internal/server/watch.ts"
import type { ServerOptions } from "./ServerOptions.ts"

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
