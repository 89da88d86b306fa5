/** Runs planned statements on a connection: all of them, or none, or each commit separately. */
import { heldByAnother, StorageError } from "@skein/core/StorageError"
import type { Places } from "@skein/core/StorageFilter"
import type { EventID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import { makeAppendEvents } from "./appendEvents.ts"
import type { Connection, Dialect } from "./dialect.ts"
import type { Planned, Statement } from "./plan.ts"
import type { Value } from "./tables.ts"

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
  // After a severe failure the database has already rolled back, and a second rollback fails: the first error says
  // more.
  const rollback = Effect.exit(run("ROLLBACK"))
  // Includes COMMIT: that is where a full disk shows, and `SqlClient.withTransaction` would die of it.
  return (work) =>
    Effect.zipRight(
      run(dialect.begin),
      Effect.onExit(
        Effect.zipLeft(work(connection), run("COMMIT")),
        (exit) => (Exit.isSuccess(exit) ? Effect.void : rollback)
      )
    )
}

/** Makes the transactions of a database. */
export const makeTransaction = (within: Within, dialect: Dialect): Transaction => {
  const appendEvents = makeAppendEvents(dialect)

  const statement = (connection: Connection, sql: string, params: ReadonlyArray<Value> = []) =>
    Effect.mapError(connection.execute(sql, params, undefined), (error) => dialect.explain(operation, error))

  const make = (connection: Connection, planned: Planned, places: Map<EventID, number>) =>
    "events" in planned
      ? appendEvents((sql, params) => statement(connection, sql, params), planned.events, places)
      : Effect.flatMap(
        statement(connection, planned.sql, planned.params),
        (rows) =>
          planned.rows === undefined || rows.length === planned.rows
            ? Effect.void
            : Effect.fail(planned.lease === undefined ? notThere(planned) : heldByAnother(operation, planned.lease))
      )

  const makeAll = (connection: Connection, plan: ReadonlyArray<Planned>) =>
    Effect.suspend(() => {
      const places = new Map<EventID, number>()
      return Effect.as(Effect.forEach(plan, (planned) => make(connection, planned, places), { discard: true }), places)
    })

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
