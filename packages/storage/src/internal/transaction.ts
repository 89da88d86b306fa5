/** Runs planned statements in one transaction: all of them, or none. */
import type { SqlError } from "@effect/sql/SqlError"
import { heldByAnother, StorageError } from "@skein/core/StorageError"
import type { Places } from "@skein/core/StorageFilter"
import type { EventID } from "@skein/domain/Id"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { YieldWrap } from "effect/Utils"
import { makeAppendEvents } from "./appendEvents.ts"
import type { Connection, Dialect } from "./dialect.ts"
import type { Planned, Statement } from "./plan.ts"

/** What is done within a transaction. Statements follow each other in one generator, at the least cost for each. */
export type Script<A> = (
  connection: Connection
) => Generator<YieldWrap<Effect.Effect<ReadonlyArray<object>, SqlError | StorageError>>, A, unknown>

/** Runs a script in one transaction. If it is retried, the transaction is still committed only once. */
export type Within = <A>(script: Script<A>) => Effect.Effect<A, StorageError>

/** Runs all of a plan in one transaction, or nothing. Transactions are not nested and must not be interrupted. */
export type Transaction = (plan: ReadonlyArray<Planned>) => Effect.Effect<Places, StorageError>

const operation = "commit"

const notThere = ({ about, params }: Statement) =>
  new StorageError({
    operation,
    reason: "constraint",
    message: about === "receipt"
      ? "The change was refused: another request was carried out under its key."
      : `The ${about} row ${String(params[1])} was taken already or is not there: read the inbox again.`
  })

/** Whether the commit is to blame, and not the database. */
export const isRefusal = ({ reason }: StorageError): boolean => reason === "constraint" || reason === "held"

/** Explains whatever ended a script. */
export const explained = ({ explain }: Dialect) => (error: SqlError | StorageError): StorageError =>
  error._tag === "SqlError" ? explain(operation, error) : error

/** Transactions on a connection that lasts as long as its database: a failed COMMIT was not applied. */
export const onConnection = (connection: Connection, dialect: Dialect): Within => {
  const begin = connection.execute(dialect.begin, [], undefined)
  const commit = connection.execute("COMMIT", [], undefined)
  // After a severe failure the database has already rolled back, and a second rollback fails: the first error says
  // more.
  const rollback = Effect.exit(connection.execute("ROLLBACK", [], undefined))
  const explain = explained(dialect)
  return (script) =>
    // Includes COMMIT: that is where a full disk shows, and `SqlClient.withTransaction` would die of it.
    Effect.catchAllCause(
      Effect.gen(function*() {
        yield* begin
        const value = yield* script(connection)
        yield* commit
        return value
      }),
      (cause) => Effect.zipRight(rollback, Effect.failCause(Cause.map(cause, explain)))
    )
}

/** Makes the transactions of a database. */
export const makeTransaction = (within: Within, dialect: Dialect): Transaction => {
  const appendEvents = makeAppendEvents(dialect)
  return (plan) =>
    within(function*(connection) {
      const places = new Map<EventID, number>()
      for (const planned of plan) {
        if ("events" in planned) {
          yield* appendEvents(connection, planned.events, places)
          continue
        }
        const rows = yield* connection.execute(planned.sql, planned.params, undefined)
        if (planned.rows === undefined || rows.length === planned.rows) continue
        yield* planned.lease === undefined ? notThere(planned) : heldByAnother(operation, planned.lease)
      }
      return places
    })
}
