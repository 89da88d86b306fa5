/** Lists all migrations in order, which both databases apply, and runs them in a transaction of its caller. */
import type { SqlError } from "@effect/sql/SqlError"
import { failpoint } from "@skein/core/Failpoints"
import * as Effect from "effect/Effect"
import type { Connection } from "./dialect.ts"
import type { ColumnTypes, Statements } from "./schema.ts"

/** The migrations of versions in development had lower numbers, and databases of them are refused. */
export const firstSchema = 11

/** What leads from one version of the schema to the next. Statements are loaded only when they are missing. */
export type Migration = Effect.Effect<Statements>

/** The first one makes the tables of `firstSchema`. */
export const migrations: ReadonlyArray<Migration> = [
  Effect.promise(() => import("./schema.ts").then(({ tables }) => tables))
]

/** The version of the schema after these migrations. */
export const latestOf = (list: ReadonlyArray<Migration>): number => firstSchema + list.length - 1

/** The version that this Skein writes. */
export const latest = latestOf(migrations)

/** What is wrong with the schema of a database; undefined if it can be used or migrated. */
export const faultOfSchema = (
  schema: number,
  known = latest
): { readonly reason: "newer" | "older"; readonly detail: string } | undefined => {
  if (schema > known) return { reason: "newer", detail: `it has schema ${schema}, this version knows ${known}` }
  return schema > 0 && schema < firstSchema
    ? { reason: "older", detail: `it has schema ${schema}, the first release began with ${firstSchema}` }
    : undefined
}

/** Applies the migrations that a database of this schema lacks; 0 is an empty one. */
export const applyMigrations = (
  connection: Connection,
  types: ColumnTypes,
  schema: number,
  list: ReadonlyArray<Migration>
): Effect.Effect<void, SqlError> =>
  Effect.forEach(
    list.slice(Math.max(0, schema - firstSchema + 1)),
    (migration) =>
      Effect.flatMap(migration, (statements) =>
        Effect.forEach(
          statements(types),
          (sql) => Effect.zipRight(failpoint("migration_step"), connection.execute(sql, [], undefined)),
          { discard: true }
        )),
    { discard: true }
  )
