/** Decides how planned statements are made on a connection: all of them, or none, or each commit by itself. */
import type { Connection } from "@effect/sql/SqlConnection"
import { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type { Dialect } from "./database.ts"
import type { Planned } from "./plan.ts"

/** What became of a commit that shared its transaction with others. */
export type Result = Either.Either<void, StorageError>

/** Transactions on one connection. They are not nested and must not be interrupted. */
export interface Transaction {
  /** Makes all of it or nothing. */
  readonly all: (plan: ReadonlyArray<Planned>) => Effect.Effect<void, StorageError>
  /** Makes each plan that the database accepts; the others have no effect. Fails where no plan is to blame. */
  readonly each: (plans: ReadonlyArray<ReadonlyArray<Planned>>) => Effect.Effect<ReadonlyArray<Result>, StorageError>
}

const operation = "commit"

/** Makes the transactions of a connection. */
export const makeTransaction = (connection: Connection, dialect: Dialect): Transaction => {
  const statement = (sql: string, params: Planned["params"] = []) =>
    Effect.mapError(connection.execute(sql, params, undefined), (error) => dialect.explain(operation, error))

  const make = (planned: Planned) =>
    Effect.flatMap(
      statement(planned.sql, planned.params),
      (rows) =>
        planned.rows === undefined || rows.length === planned.rows
          ? Effect.void
          : Effect.fail(
            new StorageError({
              operation,
              reason: "constraint",
              message: `The ${planned.about} row ${
                String(planned.params[1])
              } was taken already or is not there: read the inbox again.`
            })
          )
    )

  const makeAll = (plan: ReadonlyArray<Planned>) => Effect.forEach(plan, make, { discard: true })

  // A database that has failed badly has rolled back by itself, and refuses to do it again: the first error tells more.
  const rollback = Effect.exit(statement("ROLLBACK"))

  // COMMIT is in here as well: that is where a full disk shows, and `SqlClient.withTransaction` would die of it.
  const within = <A>(effect: Effect.Effect<A, StorageError>) =>
    Effect.zipRight(
      statement(dialect.begin),
      Effect.onExit(
        Effect.zipLeft(effect, statement("COMMIT")),
        (exit) => (Exit.isSuccess(exit) ? Effect.void : rollback)
      )
    )

  const one = (plan: ReadonlyArray<Planned>): Effect.Effect<Result, StorageError> =>
    statement("SAVEPOINT one").pipe(
      Effect.zipRight(Effect.either(makeAll(plan))),
      Effect.tap((result) => (Either.isRight(result) ? Effect.void : statement("ROLLBACK TO SAVEPOINT one"))),
      Effect.tap(() => statement("RELEASE SAVEPOINT one")),
      Effect.tap((result) =>
        Either.isLeft(result) && result.left.reason !== "constraint" ? Effect.fail(result.left) : Effect.void
      )
    )

  return { all: (plan) => within(makeAll(plan)), each: (plans) => within(Effect.forEach(plans, one)) }
}
