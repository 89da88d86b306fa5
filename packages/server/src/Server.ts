/** Owns a server: the API of the sessions of one database, for any number of clients. */
import * as FileSystem from "@effect/platform/FileSystem"
import { publicPaths } from "@skein/api/Api"
import { localAddress } from "@skein/api/Handshake"
import * as LayerGraph from "@skein/core/LayerGraph"
import type { ManyServices } from "@skein/core/Skein"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { IncomingMessage, ServerResponse } from "node:http"
import { isIPv6 } from "node:net"
import { makeAddresses } from "./internal/addresses.ts"
import { Feeds } from "./internal/events/Feeds.ts"
import { makeHandler } from "./internal/http/app.ts"
import { makeGate } from "./internal/http/gate.ts"
import { listen } from "./internal/http/listen.ts"
import { makeMcp } from "./internal/http/mcp.ts"
import { makePage } from "./internal/http/page.ts"
import { makeLogins, makeTokenCheck } from "./internal/login/Logins.ts"
import { leaveAll, resumeAfterOutages, resumeAll } from "./internal/recover.ts"
import { safeHeaders } from "./internal/respond.ts"
import { Intake, ServerState } from "./internal/ServerState.ts"
import { makeStreams } from "./internal/streams.ts"
import type { ListenFailed } from "./ListenFailed.ts"
import type { ServerOptions } from "./ServerOptions.ts"

export type { ServerOptions } from "./ServerOptions.ts"

const make = (options: ServerOptions) =>
  Effect.gen(function*() {
    const fileSystem = yield* FileSystem.FileSystem
    const feeds = yield* Feeds
    const services = yield* Effect.context<ManyServices>()
    const over = yield* Deferred.make<void>()
    // As a name it has two addresses, and clients dial this one.
    const hostname = options.hostname.toLowerCase() === "localhost" ? localAddress : options.hostname
    const listening = yield* listen(hostname, options.port)
    const addresses = makeAddresses({ ...options, hostname, port: listening.port })
    const logins = yield* makeLogins({ port: listening.port, fileSystem, file: options.loginFile })
    // Leave running work before this scope ends. Otherwise its prompts would count as stopped.
    const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
    const { cluster } = options
    yield* Effect.addFinalizer(() => Effect.zipRight(cluster?.leave ?? Effect.void, Effect.provide(leaveAll, services)))
    yield* Effect.addFinalizer(() => feeds.close)

    const checkToken = makeTokenCheck(options.token)
    const state = ServerState.of({
      options,
      logins,
      hasToken: checkToken,
      addresses,
      started: yield* Clock.currentTimeMillis,
      scope,
      turns: new Map(),
      intake: new Intake(),
      storing: new Map(),
      prunes: new Map(),
      imports: yield* Effect.makeSemaphore(1),
      shutdown: Effect.asVoid(Deferred.succeed(over, undefined))
    })
    const handler = yield* Effect.provideService(makeHandler, ServerState, state)
    const streams = yield* Effect.provideService(makeStreams, Scope.Scope, scope)
    const page = makePage(options.page ?? new Map())
    const gate = makeGate({
      addresses,
      publicPaths,
      isPage: page.has,
      isAuthentic: (request) => checkToken(request) || logins.has(request) || cluster?.isTrusted(request) === true
    })
    const mcp = yield* makeMcp(options)
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      const isAnswered = page.answer(request, response) || mcp.answer(request, response) || streams(request, response)
      if (!isAnswered) handler(request, response)
    }
    listening.answer(
      gate,
      (request, response) => {
        // Also for what another server answers.
        for (const [name, value] of Object.entries(safeHeaders)) response.setHeader(name, value)
        if (cluster === undefined) answer(request, response)
        else cluster.route(request, response, () => answer(request, response))
      },
      mcp.upgrade
    )
    // The first to run: what is interrupted from then on has its answer.
    yield* Effect.addFinalizer(() => listening.leave)
    if (options.resume && cluster === undefined) yield* Effect.forkIn(resumeAll, scope)
    // The servers of a cluster that resume look for trees that nobody works in anyway.
    if (cluster === undefined || !options.resume) yield* Effect.forkIn(resumeAfterOutages, scope)
    const host = isIPv6(hostname) ? `[${hostname}]` : hostname
    return {
      url: `http://${host}:${listening.port}`,
      code: Effect.map(logins.code, ({ code }) => code),
      closed: Deferred.await(over)
    }
  })

/** A running server. */
export class Server extends Context.Tag("@skein/server/Server")<Server, {
  /** Where it listens, such as `http://127.0.0.1:4096`. */
  readonly url: string
  /** Makes a login code that works once, within a minute. */
  readonly code: Effect.Effect<string>
  /** Waits until a client stops the server. */
  readonly closed: Effect.Effect<void>
}>() {
  /** Serves the sessions of these services until the scope closes. Running work is then left for the next process. */
  static readonly layer = (
    options: ServerOptions
  ): Layer.Layer<Server, ListenFailed, FileSystem.FileSystem | ManyServices> =>
    // Layers are shared by reference. Two servers in one program have feeds of their own.
    Layer.scopedContext(LayerGraph.build(Layer.provide(
      Layer.scoped(Server, make(options)),
      options.cluster === undefined ? Feeds.layer : Feeds.layerShared
    )))
}
