/** Runs planned statements on a connection: all of them, or none, or each commit separately. */
import type { SqlError } from "@effect/sql/SqlError"
import { heldByAnother, StorageError } from "@skein/core/StorageError"
import type { Places } from "@skein/core/StorageFilter"
import type { EventID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { makeAppendEvents } from "./appendEvents.ts"
import type { Connection, Dialect } from "./dialect.ts"
import type { Planned, Statement } from "./plan.ts"

/** The result of a commit that shared its transaction with others. */
export type Result = Either.Either<Places, StorageError>

/** Runs effects in one transaction. If it is retried, the transaction is still committed only once. */
export type Within = <A>(
  work: (connection: Connection) => Effect.Effect<A, StorageError>
) => Effect.Effect<A, StorageError>

/** Transactions. They are not nested and must not be interrupted. */
export interface Transaction {
  /** Runs all of it or nothing. */
  readonly all: (plan: ReadonlyArray<Planned>) => Effect.Effect<Places, StorageError>
  /** Runs each plan that the database accepts; refused ones have no effect. Fails if no plan is to blame. */
  readonly each: (plans: ReadonlyArray<ReadonlyArray<Planned>>) => Effect.Effect<ReadonlyArray<Result>, StorageError>
}

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

/** Transactions on a connection that lasts as long as its database: a failed COMMIT was not applied. */
export const onConnection = (connection: Connection, dialect: Dialect): Within => {
  const run = (sql: string) =>
    Effect.mapError(connection.execute(sql, [], undefined), (error) => dialect.explain(operation, error))
  const begin = run(dialect.begin)
  const commit = run("COMMIT")
  // After a severe failure the database has already rolled back, and a second rollback fails: the first error says
  // more.
  const rollback = Effect.exit(run("ROLLBACK"))
  // Includes COMMIT: that is where a full disk shows, and `SqlClient.withTransaction` would die of it.
  return (work) =>
    Effect.zipRight(begin, Effect.tapErrorCause(Effect.zipLeft(work(connection), commit), () => rollback))
}

/** Makes the transactions of a database. */
export const makeTransaction = (within: Within, dialect: Dialect): Transaction => {
  const appendEvents = makeAppendEvents(dialect)

  const explained = (error: SqlError | StorageError) =>
    error._tag === "SqlError" ? dialect.explain(operation, error) : error
  const statement = (connection: Connection, sql: string) =>
    Effect.mapError(connection.execute(sql, [], undefined), explained)

  const makeAll = (connection: Connection, plan: ReadonlyArray<Planned>) =>
    Effect.mapError(
      Effect.gen(function*() {
        const places = new Map<EventID, number>()
        for (const planned of plan) {
          if ("events" in planned) {
            yield* appendEvents(connection, planned.events, places)
            continue
          }
          const rows = yield* connection.execute(planned.sql, planned.params, undefined)
          if (planned.rows === undefined || rows.length === planned.rows) continue
          return yield* planned.lease === undefined ? notThere(planned) : heldByAnother(operation, planned.lease)
        }
        return places
      }),
      explained
    )

  const one = (connection: Connection, plan: ReadonlyArray<Planned>): Effect.Effect<Result, StorageError> =>
    statement(connection, "SAVEPOINT one").pipe(
      Effect.zipRight(Effect.either(makeAll(connection, plan))),
      Effect.tap((result) => Either.isRight(result) ? Effect.void : statement(connection, "ROLLBACK TO SAVEPOINT one")),
      Effect.tap(() => statement(connection, "RELEASE SAVEPOINT one")),
      Effect.tap((result) => Either.isLeft(result) && !isRefusal(result.left) ? Effect.fail(result.left) : Effect.void)
    )

  return {
    all: (plan) => within((connection) => makeAll(connection, plan)),
    each: (plans) => within((connection) => Effect.forEach(plans, (plan) => one(connection, plan)))
  }
}
