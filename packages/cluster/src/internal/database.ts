/** The database of a cluster: its tables, and the connections to it that wait for no session. */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import { type Leaving, makeLeaving } from "@skein/core/Fibers"
import { type Heard, makeSilence, type Wire } from "@skein/core/Silence"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
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
const statementPatience = "10 seconds"

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
    const heard = heardOn(yield* makeSilence(statementPatience))
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

const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

/** An expected failure is its message, and that of what PostgreSQL or the system said. All others come with their stack. */
export const causeText = (cause: Cause.Cause<unknown>): string => {
  const failure = Option.getOrUndefined(Cause.failureOption(cause))
  if (failure === undefined) return Cause.pretty(cause)
  const inner = failure instanceof SqlError && failure.cause instanceof Error ? ` (${failure.cause.message})` : ""
  return `${messageOf(failure)}${inner}`
}

/** Runs in one transaction what this client executes. If it fails, nothing of it is stored. */
export const inTransaction = (sql: SqlClient.SqlClient) =>
<A, E, R>(
  work: Effect.Effect<A, E, R>
): Effect.Effect<A, E | SqlError, R> =>
  Effect.scoped(Effect.flatMap(sql.reserve, (connection) => {
    const run = (statement: string) => connection.executeUnprepared(statement, [], undefined)
    const inside = Effect.provideService(work, SqlClient.TransactionConnection, [connection, 0])
    return Effect.zipRight(
      run("BEGIN"),
      // A lost connection has rolled back already, so that a second failure says nothing more.
      Effect.onError(Effect.zipLeft(inside, run("COMMIT")), () => Effect.exit(run("ROLLBACK")))
    )
  }))

/** Runs in one transaction what the client of the cluster executes. */
export type Within = <A, E, R>(work: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError, R>

/** A connection, and how to close it. */
interface Line {
  readonly connection: Connection
  readonly close: Effect.Effect<void>
}

/** How long PostgreSQL lets a statement wait, for its turn for example. */
const more = "-c lock_timeout=4s"

/** For one transaction at a time: the next one after a failure opens a client of its own. */
const maxConnections = 1

/** Makes the transactions, until the scope closes. */
export const makeOwnConnection = (
  url: Redacted.Redacted,
  patience: Duration.DurationInput
): Effect.Effect<Within, never, Scope.Scope> =>
  // Closed after what is forked into the caller's scope later: that is interrupted, and does not fail.
  Effect.map(Effect.acquireRelease(Scope.make(), Scope.close), (scope) => {
    /** Open, and in no transaction. */
    let idle: Line | undefined

    const open = Effect.gen(function*() {
      const own = yield* Scope.fork(scope, ExecutionStrategy.sequential)
      const close = Scope.close(own, Exit.void)
      const client = openClient(url, { applicationName: "skein-shares", maxConnections, more })
      const connection = yield* Effect.flatMap(client, ({ reserve }) => reserve).pipe(
        Scope.extend(own),
        Effect.onError(() => close)
      )
      return { connection, close } satisfies Line
    })
    const take = Effect.suspend(() => {
      const taken = idle
      idle = undefined
      return taken === undefined ? open : Effect.succeed(taken)
    })
    const give = (line: Line, exit: Exit.Exit<unknown, unknown>) =>
      Effect.suspend(() => {
        if (Exit.isFailure(exit) || idle !== undefined) return line.close
        idle = line
        return Effect.void
      })

    return <A, E, R>(work: Effect.Effect<A, E, R>) => {
      const transaction = Effect.acquireUseRelease(take, ({ connection }) => {
        const run = (sql: string) => connection.executeUnprepared(sql, [], undefined)
        const inside = Effect.provideService(work, SqlClient.TransactionConnection, [connection, 0])
        return Effect.zipLeft(Effect.zipRight(run("BEGIN"), inside), run("COMMIT"))
      }, give)
      // What hangs is ended beside its caller, which does not wait for that.
      return Effect.timeoutFail(Effect.disconnect(transaction), {
        duration: patience,
        onTimeout: () =>
          new SqlError({ cause: undefined, message: "PostgreSQL took too long for a transaction of the cluster" })
      })
    }
  })

/** The tables of directories: by what a host proves that it sees one, and which trees wait for the host of theirs. */
export const placeTables = [
  `CREATE TABLE IF NOT EXISTS cluster_directory (
    host TEXT NOT NULL, directory TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (host, directory)
  )`,
  `CREATE TABLE IF NOT EXISTS cluster_waiting (
    root_id TEXT PRIMARY KEY, host TEXT NOT NULL, directory TEXT NOT NULL, seen TIMESTAMPTZ NOT NULL
  )`
]

const nameOf = (statement: string): string => /IF NOT EXISTS (\w+)/.exec(statement)?.[1] ?? ""

/** The table of a statement that adds a column. */
const extended = (statement: string): string | undefined => /^ALTER TABLE (\w+)/.exec(statement)?.[1]

const isThere = Effect.fnUntraced(function*(statement: string) {
  const sql = yield* SqlClient.SqlClient
  const table = extended(statement)
  const [row] = table === undefined
    ? yield* sql<{ readonly found: boolean }>`SELECT to_regclass(${nameOf(statement)}) IS NOT NULL AS found`
    : yield* sql<{ readonly found: boolean }>`SELECT EXISTS (SELECT FROM pg_attribute WHERE NOT attisdropped
        AND attrelid = to_regclass(${table}) AND attname = ${nameOf(statement)}) AS found`
  return row?.found === true
})

/**
 * Creates those that are missing. If none is, no right to create tables is needed. Two processes that create a table at once
 * may both find it missing: then it tries again.
 */
export const createTables = Effect.fnUntraced(function*(statements: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const create = Effect.forEach(statements, (statement) =>
    Effect.gen(function*() {
      if (!(yield* isThere(statement))) yield* sql.unsafe(statement)
    }), { discard: true })
  yield* create.pipe(
    Effect.retry(Schedule.intersect(Schedule.spaced("50 millis"), Schedule.recurs(10))),
    Effect.mapError(unavailable("The tables of the cluster cannot be created"))
  )
})
