/**
 * Runs effects in a transaction of a client. A COMMIT that fails is an error like any other. With `SqlClient.withTransaction`,
 * the fiber dies.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"

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
