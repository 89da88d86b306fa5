/** Implements the routes of the server itself. */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApp from "@effect/platform/HttpApp"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Api } from "@skein/api/Api"
import { problem } from "@skein/api/Problem"
import { Leases } from "@skein/core/Leases"
import { SessionStorage } from "@skein/core/SessionStorage"
import { StorageHealth, type StorageTrouble } from "@skein/core/StorageHealth"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { pid } from "node:process"
import { behindProxy } from "../addresses.ts"
import { prove } from "../login/Logins.ts"
import { ServerState } from "../ServerState.ts"
import { answeredBefore, noting } from "./reached.ts"
import { asProblem } from "./toProblem.ts"

const badCode = problem(
  401,
  "BadCode",
  "The login code is wrong, was used, or is older than a minute. `skein serve --url` prints a new one."
)

const notOwn = problem(
  403,
  "ForeignHost",
  `The handshake is for a server at another address. \`host\` has to be the host and port by which this one is reached, with an address instead of localhost. ${behindProxy}`
)

const noCluster = problem(404, "NoCluster", "This server is in no cluster. Start it with --cluster, on PostgreSQL.")

/** Without the address of the database: the route needs no token. */
const notReady = ({ since }: StorageTrouble, now: number) =>
  problem(
    503,
    "StorageUnavailable",
    `The database has not answered for ${
      Math.round((now - since) / 1_000)
    } s, or stores nothing. Work waits for it, and continues once it is back. The log of the server says more.`
  )

/** The routes that need no token. */
export const publicRoutes = HttpApiBuilder.group(Api, "public", (handlers) =>
  handlers
    .handle("health", () => Effect.succeed({ status: "ok" as const }))
    .handle("ready", () =>
      Effect.gen(function*() {
        const trouble = (yield* StorageHealth).trouble()
        if (trouble !== undefined) return yield* Effect.fail(notReady(trouble, yield* Clock.currentTimeMillis))
        return { status: "ok" as const }
      }))
    .handle("handshake", ({ payload, request }) =>
      Effect.flatMap(ServerState, ({ addresses, options: { token, version } }) =>
        addresses.isProvable(payload.host, NodeHttpServerRequest.toIncomingMessage(request))
          ? Effect.succeed({ answer: prove(token, payload, version), version })
          : Effect.fail(notOwn)))
    .handle("login", ({ payload, request }) =>
      Effect.gen(function*() {
        const { addresses, logins } = yield* ServerState
        const isSecure = addresses.isSecure(NodeHttpServerRequest.toIncomingMessage(request))
        const login = yield* logins.exchange(payload.code, isSecure)
        if (login === undefined) {
          return yield* Effect.fail(badCode)
        }
        yield* HttpApp.appendPreResponseHandler((_, response) =>
          Effect.succeed(HttpServerResponse.setHeader(response, "set-cookie", login.cookie))
        )
        return { key: login.key }
      }))
    .pipe(noting))

/** The routes of the server. */
export const serverRoutes = HttpApiBuilder.group(Api, "server", (handlers) =>
  handlers
    .handle("about", () =>
      Effect.gen(function*() {
        const { options: { cluster, directory, version }, started } = yield* ServerState
        // This also reports whether the database still exists.
        yield* asProblem((yield* SessionStorage).intact ?? Effect.void)
        return {
          version,
          pid,
          started,
          cluster: cluster !== undefined,
          ...(directory === undefined ? {} : { directory }),
          ...(yield* Leases).machine
        }
      }))
    .handle("cluster", () =>
      Effect.gen(function*() {
        const { options: { cluster } } = yield* ServerState
        if (cluster === undefined) return yield* Effect.fail(noCluster)
        return yield* Effect.mapError(cluster.status, ({ message }) => problem(503, "StorageUnavailable", message))
      }))
    .handle("ids", ({ urlParams: { limit = 20, of, start } }) =>
      Effect.map(
        asProblem(Effect.flatMap(SessionStorage, (storage) => storage.ids(of, start, limit))),
        (items) => ({ items })
      ))
    .handle("code", () => Effect.flatMap(ServerState, ({ logins }) => logins.code))
    .handle("logout", ({ request }) =>
      Effect.flatMap(ServerState, ({ logins }) =>
        logins.end(NodeHttpServerRequest.toIncomingMessage(request))))
    .handle("shutdown", () =>
      Effect.flatMap(ServerState, ({ shutdown }) => shutdown))
    .handleRaw("events", () => answeredBefore)
    .pipe(noting))
