/** Owns the connections of a runner to the tables of its cluster, beside those of the sessions. */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import { type Leaving, makeLeaving } from "@skein/core/Fibers"
import { type Heard, makeSilence, type Wire } from "@skein/core/Silence"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { Socket } from "node:net"
import { type ClusterUnavailable, unavailable } from "../ClusterUnavailable.ts"

/** For a runner. One is kept for the locks of the engine. */
const most = 4

/** For a process that is no runner. */
export const few = 2

/** Detects a dead peer after this many milliseconds and some probes. */
const keepAlive = 10_000

/** For how long nothing may come of a statement before its connection counts as lost. */
const patience = "10 seconds"

/**
 * The tables are in the schema of the sessions. PostgreSQL looks whether the other end is there after 2 idle seconds, 3 times: a
 * server whose network is gone must not keep locks.
 */
const settings = [
  "search_path=skein",
  "client_min_messages=warning",
  "idle_in_transaction_session_timeout=2s",
  "tcp_keepalives_idle=2",
  "tcp_keepalives_interval=1",
  "tcp_keepalives_count=3",
  "tcp_user_timeout=5000"
].map((setting) => `-c ${setting}`).join(" ")

/** A reserved connection, as `PgClient` of this version makes it; `stream` is the socket, or the encrypted one on it. */
interface Reserved extends Connection {
  readonly pg: { readonly connection: { readonly stream: Wire } }
}

/**
 * The same connection, which ends if nothing comes of a statement for too long. A statement is never cancelled: the client
 * would need another connection of the pool for that, and if all of them are interrupted at once, each waits for the others.
 */
const heardOn = (heard: Heard) => (connection: Connection): Connection => {
  const asks = heard((connection as Reserved).pg.connection.stream)
  const whole: typeof asks = (asking) => Effect.uninterruptible(asks(asking))
  return {
    execute: (...given) => whole(connection.execute(...given)),
    executeRaw: (...given) => whole(connection.executeRaw(...given)),
    executeStream: (...given) => connection.executeStream(...given),
    executeValues: (...given) => whole(connection.executeValues(...given)),
    executeUnprepared: (...given) => whole(connection.executeUnprepared(...given))
  }
}

/** Takes a connection for each statement. A caller that is interrupted leaves at once, and the statement ends by itself. */
const eachOn = (reserve: Reserve, leaving: Leaving): Connection => {
  const on = <A>(use: (connection: Connection) => Effect.Effect<A, SqlError>) =>
    leaving(Effect.scoped(Effect.flatMap(reserve, use)))
  return {
    execute: (...given) => on((connection) => connection.execute(...given)),
    executeRaw: (...given) => on((connection) => connection.executeRaw(...given)),
    executeStream: (...given) =>
      Stream.unwrapScoped(Effect.map(reserve, (connection) => connection.executeStream(...given))),
    executeValues: (...given) => on((connection) => connection.executeValues(...given)),
    executeUnprepared: (...given) => on((connection) => connection.executeUnprepared(...given))
  }
}

type Reserve = Effect.Effect<Connection, SqlError, Scope.Scope>

/** Opens connections with the usual settings and more, until the scope closes. */
export const openClient = (
  url: Redacted.Redacted,
  { applicationName, maxConnections, more = "" }: {
    readonly applicationName: string
    readonly maxConnections: number
    /** More settings, as options of PostgreSQL. */
    readonly more?: string
  }
): Effect.Effect<SqlClient.SqlClient, SqlError, Scope.Scope> =>
  Effect.gen(function*() {
    const full = new URL(Redacted.value(url))
    full.searchParams.set("options", `${full.searchParams.get("options") ?? ""} ${settings} ${more}`.trim())
    const heard = heardOn(yield* makeSilence(patience))
    const leaving = yield* makeLeaving
    const client = yield* PgClient.make({
      url: Redacted.make(full.href),
      applicationName,
      maxConnections,
      connectTimeout: "10 seconds",
      stream: () => new Socket().setKeepAlive(true, keepAlive)
    })
    // The client leaks a connection whose requester is interrupted meanwhile.
    const reserve = Effect.map(Effect.uninterruptible(client.reserve), heard)
    return yield* SqlClient.make({
      acquirer: Effect.succeed(eachOn(reserve, leaving)),
      transactionAcquirer: reserve,
      compiler: PgClient.makeCompiler(),
      spanAttributes: [["db.system.name", "postgresql"]]
    })
  }).pipe(Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make))

/**
 * The same connection, which several fibers may use at once: the next major version of `pg` refuses that. A caller that is
 * interrupted leaves at once, and the next statement waits until the one before has ended.
 */
const oneByOne = (leaving: Leaving) => (connection: Connection): Connection => {
  const permit = Effect.unsafeMakeSemaphore(1).withPermits(1)
  const turn: typeof leaving = (statement) => leaving(permit(statement))
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
    Effect.zip(openClient(url, { applicationName: "skein-cluster", maxConnections }), makeLeaving).pipe(
      Effect.mapError(unavailable("The database of the cluster cannot be reached")),
      Effect.map(([client, leaving]) =>
        Context.make(
          SqlClient.SqlClient,
          // The engine keeps one for its locks.
          Object.assign(client, { reserve: Effect.map(client.reserve, oneByOne(leaving)) })
        )
      )
    )
  )
