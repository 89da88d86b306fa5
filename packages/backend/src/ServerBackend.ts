/** Owns the backend over a server: the same sessions, which continue when this process ends. */
import * as HttpClient from "@effect/platform/HttpClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Backend } from "./Backend.ts"
import type { BackendError } from "./BackendError.ts"
import { type Link, makeLink } from "./internal/server/Link.ts"
import { makeAsks, makeProjects, makeTaskControl } from "./internal/server/others.ts"
import { makeSessions } from "./internal/server/sessions.ts"
import { makeWatching } from "./internal/server/watch.ts"
import type { ServerOptions } from "./ServerOptions.ts"

/** How long the server may take to report whether its database exists, in milliseconds. */
const intactPatience = 2_000

/** Fails if the server reports that its database is gone. An unreachable server is no failure here. */
const intactOf = ({ call }: Link): Effect.Effect<void, BackendError> =>
  Effect.timeoutOption(
    Effect.interruptible(Effect.disconnect(call("may be sent again", ({ server }) => server.about()))),
    intactPatience
  ).pipe(
    Effect.catchIf(({ _tag, reason }) => _tag !== "StorageError" || reason !== "gone", () => Effect.void),
    Effect.asVoid
  )

/** The sessions of a server. What this process began continues when the layer closes. */
export const layer = (options: ServerOptions): Layer.Layer<Backend, never, HttpClient.HttpClient> =>
  Layer.scoped(
    Backend,
    Effect.gen(function*() {
      const http = yield* Effect.context<HttpClient.HttpClient>()
      const link = yield* makeLink(options)
      // The next request may meet a server that is frozen: by then the others have to be known.
      yield* link.learning
      const watching = makeWatching(link, http)
      return {
        // A server that was started again has another address.
        get where() {
          const { url, version } = link.where()
          return { _tag: "Server", url, version } as const
        },
        sessions: makeSessions(watching, link),
        watch: watching,
        asks: makeAsks(link),
        tasks: makeTaskControl(link),
        projects: makeProjects(link),
        machine: Effect.map(
          link.call("may be sent again", ({ server }) => server.about()),
          // Any server of a cluster may have the directory of a new session.
          ({ cluster, host, machine }) => host === undefined || cluster ? undefined : { host, machine }
        ),
        intact: intactOf(link)
      }
    })
  )
