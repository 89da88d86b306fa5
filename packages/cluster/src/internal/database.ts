/** Owns the connections of a runner to the tables of its cluster, beside those of the sessions. */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { Socket } from "node:net"
import { type ClusterUnavailable, unavailable } from "../ClusterUnavailable.ts"

/** For a runner. One is kept for the locks of the engine. */
const most = 4

/** For a process that is no runner. */
export const few = 2

/** Detects a dead peer after this many milliseconds and some probes. */
const keepAlive = 10_000

/** The tables are in the schema of the sessions. */
const settings = "-c search_path=skein -c client_min_messages=warning -c idle_in_transaction_session_timeout=2s"

/** Opens connections with the usual settings and more, until the scope closes. */
export const openClient = (
  url: Redacted.Redacted,
  { applicationName, maxConnections, more = "" }: {
    readonly applicationName: string
    readonly maxConnections: number
    /** More settings, as options of PostgreSQL. */
    readonly more?: string
  }
): Effect.Effect<PgClient.PgClient, SqlError, Scope.Scope> => {
  const full = new URL(Redacted.value(url))
  full.searchParams.set("options", `${full.searchParams.get("options") ?? ""} ${settings} ${more}`.trim())
  return PgClient.make({
    url: Redacted.make(full.href),
    applicationName,
    maxConnections,
    connectTimeout: "10 seconds",
    stream: () => new Socket().setKeepAlive(true, keepAlive)
  }).pipe(Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make))
}

/** The same connection, which several fibers may use at once: the next major version of `pg` refuses that. */
const oneByOne = (connection: Connection): Connection => {
  const turn = Effect.unsafeMakeSemaphore(1).withPermits(1)
  return {
    execute: (...given) => turn(connection.execute(...given)),
    executeRaw: (...given) => turn(connection.executeRaw(...given)),
    executeStream: (...given) => connection.executeStream(...given),
    executeValues: (...given) => turn(connection.executeValues(...given)),
    executeUnprepared: (...given) => turn(connection.executeUnprepared(...given))
  }
}

/** The database, over so many connections at most, until the scope closes. */
export const database = (
  url: Redacted.Redacted,
  maxConnections: number = most
): Layer.Layer<SqlClient.SqlClient, ClusterUnavailable> =>
  Layer.scopedContext(
    openClient(url, { applicationName: "skein-cluster", maxConnections }).pipe(
      Effect.mapError(unavailable("The database of the cluster cannot be reached")),
      Effect.map((client) =>
        Context.make(
          SqlClient.SqlClient,
          // The engine keeps one for its locks. The client leaks a connection whose requester is interrupted meanwhile.
          Object.assign(client, { reserve: Effect.map(Effect.uninterruptible(client.reserve), oneByOne) })
        )
      )
    )
  )
