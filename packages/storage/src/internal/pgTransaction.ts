/**
 * Runs each PostgreSQL transaction exactly once, even if the connection is lost before its COMMIT is acknowledged.
 * Every process has a row in which each of its transactions stores its number. If the outcome of a transaction is
 * unknown, it is run again, and finds its own number there if it had been committed. All transactions that write begin
 * by incrementing one row, and so wait for each other. A lost one is waited for as well, so it cannot be committed
 * after the check. This also numbers the log in the order in which events become visible, and keeps processes from
 * blocking each other.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import { randomUUID } from "node:crypto"
import { type Connection, makeSelect, type Snapshot } from "./dialect.ts"
import type { Postgres } from "./pgConnection.ts"
import { isLost } from "./pgError.ts"
import { explained, type Script, type Within } from "./transaction.ts"
import { retryOutage } from "./writer.ts"

/** Acknowledges commits only once they are on disk, whatever the server's setting. */
const waitForDisk =
  "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'"

/** Rows of processes that have long ended. */
const forgotten = "DELETE FROM writer WHERE seen < now() - interval '1 day'"

const markText = (id: string, number: number): string =>
  `WITH ${
    number === 1 ? `forgotten AS (${forgotten}), ` : ""
  }counted AS (UPDATE skein_storage SET changes = changes + 1)
  INSERT INTO writer (id, made, commits, seen) VALUES ('${id}', ${number}, 1, now())
  ON CONFLICT (id) DO UPDATE SET made = excluded.made, commits = writer.commits + 1, seen = excluded.seen
  WHERE writer.made < excluded.made RETURNING id`

/**
 * Ends transactions that hold up all others and wait for a process that may be gone: its network went away in the middle of a
 * request. `idle_in_transaction_session_timeout` does not see these, because a request has begun.
 */
const endSilent = `SELECT pg_terminate_backend(holder.pid) FROM pg_stat_activity AS holder
  JOIN pg_locks AS held ON held.pid = holder.pid AND held.granted AND held.mode = 'RowExclusiveLock'
    AND held.relation = CAST('skein_storage' AS regclass)
  WHERE holder.datname = current_database() AND holder.wait_event_type = 'Client'
    AND holder.state_change < clock_timestamp() - interval '4 seconds'`

const operation = "commit"

/** Whether a statement waited too long for a lock. */
const isLocked = ({ cause }: SqlError): boolean => Predicate.hasProperty(cause, "code") && cause.code === "55P03"

const unknown = (error: StorageError): StorageError =>
  new StorageError({
    ...error,
    message: `${error.message} The last change may or may not have been stored. Check before you retry.`
  })

/** Makes the transactions of a process, and counts those of others. */
export const makePgTransactions = (database: Postgres) =>
  Effect.sync(() => {
    const { dialect, use, write } = database
    const id = randomUUID()
    let last = 0

    const explain = (error: SqlError) => dialect.explain(operation, error)
    const run = (connection: Connection, sql: string) =>
      Effect.mapError(connection.execute(sql, [], undefined), explain)
    const rollback = (connection: Connection) => Effect.exit(run(connection, "ROLLBACK"))
    const begin = (number: number) =>
      `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; ${waitForDisk}; ${markText(id, number)}`

    const marking = (connection: Connection, number: number) =>
      connection.execute(begin(number), [], undefined).pipe(
        Effect.tapError((error) =>
          isLocked(error)
            ? Effect.zipRight(rollback(connection), Effect.exit(run(connection, endSilent)))
            : Effect.void
        ),
        Effect.mapError(explain)
      )

    const within: Within = <A>(script: Script<A>) => {
      let number = 0
      // The result of an attempt whose COMMIT was not acknowledged.
      let unacknowledged = Option.none<A>()
      const commit = (connection: Connection, value: A) =>
        connection.execute("COMMIT", [], undefined).pipe(
          Effect.mapError((error) => {
            if (isLost(error.cause)) unacknowledged = Option.some(value)
            return explain(error)
          }),
          Effect.as(value)
        )
      const attempt = (connection: Connection) =>
        Effect.gen(function*() {
          const marked = (yield* marking(connection, number)).at(-1)
          if (Option.isSome(unacknowledged) && marked.length === 0) {
            return yield* Effect.as(rollback(connection), unacknowledged.value)
          }
          unacknowledged = Option.none()
          return yield* commit(connection, yield* script(connection))
        }).pipe(Effect.mapError(explained(dialect)), Effect.tapErrorCause(() => rollback(connection)))
      return Effect.suspend(() => {
        if (number === 0) number = ++last
        return write(attempt)
      }).pipe(Effect.mapError((error) => (Option.isSome(unacknowledged) ? unknown(error) : error)))
    }

    const snapshot: Snapshot = (read) =>
      retryOutage(use((connection) =>
        // The next one to use the connection would read in this transaction if it stayed open.
        Effect.acquireUseRelease(
          run(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
          () => read(makeSelect(connection, dialect)),
          () => rollback(connection)
        )
      ))

    /** Counts the transactions of all other processes. */
    const othersVersion = Effect.map(
      makeSelect(database.connection, dialect)<{ readonly others: number }>(
        "mail",
        `SELECT changes - coalesce((SELECT commits FROM writer WHERE id = ?), 0) AS others FROM skein_storage`,
        [id]
      ),
      ([row]) => row?.others
    )
    return { othersVersion: retryOutage(othersVersion), snapshot, within }
  })
