/** Migrates the schema of a PostgreSQL database: forward only, in one transaction, safe with concurrent processes. */
import type { SqlError } from "@effect/sql/SqlError"
import { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import { createHash } from "node:crypto"
import type { Connection } from "./dialect.ts"
import { applyMigrations, faultOfSchema, latestOf, type Migration, migrations } from "./migrations.ts"
import type { Postgres } from "./pgConnection.ts"
import { retryBusy } from "./writer.ts"

const operation = "open"

/** The advisory lock of the process that migrates these tables, until the transaction ends. */
const lockOf = (schema: string): string =>
  `SELECT pg_advisory_xact_lock(${0x536b6e31}, ${createHash("sha256").update(schema).digest().readInt32BE()})`

interface Found {
  readonly encoding: string
  readonly standby: boolean
  readonly exists: boolean
  readonly isOurs: boolean
  readonly relations: number
}

const look = `SELECT current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS standby,
  to_regnamespace(?) IS NOT NULL AS exists,
  EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace(?) AND relname = 'skein_storage') AS "isOurs",
  (SELECT count(*)::integer FROM pg_class WHERE relnamespace = to_regnamespace(?)) AS relations`

/** Opens the tables of a database, and creates missing ones. If it refuses the database, it changes nothing. */
export const migrate = (
  { at, dialect, schema, useLong }: Postgres,
  list: ReadonlyArray<Migration> = migrations
): Effect.Effect<void, StorageError> => {
  const latest = latestOf(list)
  const refuse = (reason: StorageError["reason"], message: string) =>
    Effect.fail(new StorageError({ operation, reason, message: `${at} ${message}` }))

  const run = <Row>(connection: Connection, sql: string, params: ReadonlyArray<string | number> = []) =>
    Effect.mapError(
      connection.execute(dialect.text(sql), params, undefined) as Effect.Effect<ReadonlyArray<Row>, SqlError>,
      (error) => dialect.explain(operation, error)
    )

  const inspect = Effect.fnUntraced(function*(connection: Connection) {
    const [found] = yield* run<Found>(connection, look, [schema, schema, schema])
    if (found === undefined) return yield* Effect.dieMessage("A SELECT without FROM gives one row")
    if (found.encoding !== "UTF8") {
      return yield* refuse(
        "unreadable",
        `has the encoding ${found.encoding}. Make one with "createdb -E UTF8 -T template0".`
      )
    }
    if (found.standby) {
      return yield* refuse("readonly", "is a standby, which cannot be written. Name the primary server.")
    }
    if (found.relations > 0 && !found.isOurs) {
      return yield* refuse(
        "foreign",
        `has a schema "${schema}" that is not Skein's. Name another database, or rename that schema.`
      )
    }
    const [row] = found.isOurs
      ? yield* run<{ readonly schema: number }>(connection, "SELECT schema FROM skein_storage")
      : []
    const made = row?.schema ?? 0
    const fault = faultOfSchema(made, latest)
    if (fault !== undefined) {
      return yield* refuse(
        fault.reason,
        fault.reason === "newer"
          ? `was written by a newer version of Skein (${fault.detail}). Use that version, or name another database.`
          : `was written by a version of Skein from before its first release (${fault.detail}). Export its sessions with `
            + "that version (skein sessions export ID --output FILE), and import them into another database."
      )
    }
    return { exists: found.exists, made }
  })

  const apply = Effect.fnUntraced(function*(connection: Connection) {
    yield* run(connection, `BEGIN; ${lockOf(schema)}`)
    // Another process may have done it while this one waited.
    const { exists, made } = yield* inspect(connection)
    if (!exists) yield* run(connection, `CREATE SCHEMA ${schema}`)
    if (made < latest) {
      const { postgresTypes } = yield* Effect.promise(() => import("./schema.ts"))
      yield* Effect.mapError(
        applyMigrations(connection, postgresTypes, made, list),
        (error) => dialect.explain(operation, error)
      )
    }
    yield* run(connection, "UPDATE skein_storage SET schema = ?", [latest])
    yield* run(connection, "COMMIT")
  })

  return retryBusy(useLong((connection) =>
    Effect.flatMap(inspect(connection), ({ made }) =>
      made === latest
        ? Effect.void
        : apply(connection).pipe(
          Effect.tapErrorCause(() => Effect.exit(run(connection, "ROLLBACK"))),
          Effect.uninterruptible
        ))
  ))
}
