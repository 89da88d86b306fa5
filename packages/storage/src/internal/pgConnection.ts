/** Owns the connections to a PostgreSQL database. */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as PgClient from "@effect/sql-pg/PgClient"
import type { SqlError } from "@effect/sql/SqlError"
import { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { Socket } from "node:net"
import { place } from "../PostgresUrl.ts"
import type { Connection, Dialect } from "./dialect.ts"
import { explain } from "./pgError.ts"
import { fromStored, hasMark, toStored } from "./pgText.ts"

/** An open database. */
export interface Postgres {
  readonly dialect: Dialect
  /** The address for error messages. */
  readonly at: string
  /** The PostgreSQL schema of the tables. */
  readonly schema: string
  /** Any connection: each statement is its own transaction. */
  readonly connection: Connection
  /** A connection that nothing but renewals of leases uses. */
  readonly renewals: Connection
  /** Uses one connection for several statements. */
  readonly use: <A, E>(use: (connection: Connection) => Effect.Effect<A, E>) => Effect.Effect<A, E | StorageError>
}

/** Separate connections for reads, for the one transaction that writes, and to cancel an interrupted read. */
const maxConnections = 6

/** Detects a dead peer after this many milliseconds and ten more probes. */
const keepAlive = 10_000

/**
 * The settings of a connection. A frozen process must not block the others for long with an open transaction: they could
 * not renew their leases meanwhile. One that was ended for that is repeated.
 */
const settings = (schema: string): string =>
  [
    `search_path=${schema}`,
    "lock_timeout=30s",
    "idle_in_transaction_session_timeout=2s",
    "client_min_messages=warning"
  ].map((setting) => `-c ${setting}`).join(" ")

const refuse = (message: string) => Effect.fail(new StorageError({ operation: "open", reason: "unreadable", message }))

const makeDialect = (at: string): Dialect => {
  const texts = new Map<string, string>()
  return {
    text: (sql) => {
      let found = texts.get(sql)
      if (found === undefined) {
        let count = 0
        texts.set(sql, found = sql.replaceAll("?", () => `$${++count}`))
      }
      return found
    },
    begin: "BEGIN",
    // The current time of the server, not that of the start of the transaction: processes that share it may have other
    // clocks.
    now: "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
    // Only one transaction that writes is open at a time.
    share: "",
    explain: explain(at)
  }
}

type Row = Readonly<Record<string, unknown>>

const stored = (value: unknown): unknown => (typeof value === "string" ? toStored(value) : value)

const isMarked = (value: unknown): value is string => typeof value === "string" && hasMark(value)

const read = (row: Row): Row =>
  Object.values(row).some(isMarked)
    ? Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, isMarked(value) ? fromStored(value) : value])
    )
    : row

/** The same connection, for texts with any characters. */
const forAnyText = (connection: Connection): Connection => ({
  execute: (sql, params, transform) =>
    Effect.map(connection.execute(sql, params.map(stored), transform), (rows: ReadonlyArray<Row>) => rows.map(read))
})

/** Opens a database, and closes it with the scope. */
export const connect = (
  url: Redacted.Redacted<string> | string,
  schema: string
): Effect.Effect<Postgres, StorageError, Scope.Scope> =>
  Effect.gen(function*() {
    const text = Redacted.isRedacted(url) ? Redacted.value(url) : url
    if (!URL.canParse(text)) {
      return yield* refuse(
        "The URL of the database cannot be read. Write it as postgres://host:5432/database, with user:password@ before "
          + "the host, in which special characters are percent-encoded (@ is %40)."
      )
    }
    if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
      return yield* refuse(
        `${JSON.stringify(schema)} is not a name for a schema. Use up to 63 small letters, digits and underscores.`
      )
    }
    const at = place(text)
    const dialect = makeDialect(at)
    const full = new URL(text)
    full.searchParams.set("options", `${full.searchParams.get("options") ?? ""} ${settings(schema)}`.trim())
    const opened = (error: SqlError) => dialect.explain("open", error)
    const clientWith = (most: number) =>
      PgClient.make({
        url: Redacted.make(full.href),
        applicationName: "skein",
        maxConnections: most,
        connectTimeout: "10 seconds",
        idleTimeout: "60 seconds",
        stream: () => new Socket().setKeepAlive(true, keepAlive)
      }).pipe(Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make), Effect.mapError(opened))
    // The client leaks a connection whose requester is interrupted meanwhile.
    const reserved = ({ reserve }: PgClient.PgClient) => Effect.map(Effect.uninterruptible(reserve), forAnyText)
    const each = (reserving: ReturnType<typeof reserved>): Connection => ({
      execute: (sql, params, transform) =>
        Effect.scoped(Effect.flatMap(reserving, (connection) => connection.execute(sql, params, transform)))
    })
    const reserve = reserved(yield* clientWith(maxConnections))
    return {
      at,
      dialect,
      schema,
      connection: each(reserve),
      renewals: each(reserved(yield* clientWith(1))),
      use: (use) =>
        Effect.scoped(
          Effect.flatMap(Effect.mapError(reserve, (error) => dialect.explain("connect", error)), use)
        )
    }
  })
