/**
 * Owns one connection for transactions that nothing else may hold up. A transaction that fails or takes too long costs the
 * connection: PostgreSQL rolls it back, and the next one gets a new connection. `SqlClient.withTransaction` keeps the
 * connection, and dies if a COMMIT or ROLLBACK fails, as it does on a lost one.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { openClient } from "./database.ts"

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
  Effect.map(Effect.scope, (scope) => {
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
