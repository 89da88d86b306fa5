/** Storage in a PostgreSQL database, which processes on several machines may share. */
import { SessionStorage } from "@skein/core/SessionStorage"
import type { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import { makeSelect, type Select } from "./internal/dialect.ts"
import { connect } from "./internal/pgConnection.ts"
import { migrate } from "./internal/pgMigrate.ts"
import { makePgRenewals } from "./internal/pgRenewals.ts"
import { makePgTransactions } from "./internal/pgTransaction.ts"
import { makeSqlStorage } from "./internal/sqlStorage.ts"
import { retryBusy, retryOutage } from "./internal/writer.ts"

/** Where the database is. */
export interface Options {
  /**
   * `postgres://user:password@host:port/database`, with the parameters of libpq such as `sslmode`. Errors show it
   * without user and password.
   */
  readonly url: Redacted.Redacted<string> | string
  /** The PostgreSQL schema of the tables, `skein` by default; it is created if it is missing. */
  readonly schema?: string
}

/** Connects to a database once. Fails, and says why, if that is impossible. */
export const reach = (url: Options["url"]): Effect.Effect<void, StorageError> =>
  Effect.scoped(Effect.asVoid(connect(url, "skein")))

/**
 * Storage in this database. A lost connection is restored, for up to 30 seconds; no commit is lost or stored twice.
 * Fails, and leaves the database unchanged, if the schema is not Skein's or cannot be used.
 */
export const layer = ({ schema = "skein", url }: Options): Layer.Layer<SessionStorage, StorageError> =>
  Layer.scoped(
    SessionStorage,
    Effect.gen(function*() {
      const database = yield* retryBusy(connect(url, schema))
      yield* migrate(database)
      const { connection, dialect } = database
      const select = makeSelect(connection, dialect)
      const read: Select = (operation, sql, params) => retryOutage(select(operation, sql, params))
      const { othersVersion, snapshot, within } = yield* makePgTransactions(database)
      return yield* makeSqlStorage({
        connection,
        dialect,
        renew: makePgRenewals(database),
        othersVersion,
        // The server acknowledges a COMMIT once it is on its disk.
        flush: Effect.void,
        transactions: { read, snapshot, within }
      })
    })
  )
