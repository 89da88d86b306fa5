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
  /** How it is shown. */
  readonly at: string
  /** The PostgreSQL schema that the tables are in. */
  readonly schema: string
  /** Any connection: each statement is a transaction by itself. */
  readonly connection: Connection
  /** Uses one connection for several statements. */
  readonly use: <A, E>(use: (connection: Connection) => Effect.Effect<A, E>) => Effect.Effect<A, E | StorageError>
}

/** Reads, the one transaction that writes, and what cancels a read that was interrupted. */
const maxConnections = 6

/** A peer that is gone without a word is noticed after so many milliseconds, and then ten more tries. */
const keepAlive = 10_000

/** A process that idles in a transaction for so long, such as a frozen one, must not block others. */
const settings = (schema: string): string =>
  [
    `search_path=${schema}`,
    "lock_timeout=30s",
    "idle_in_transaction_session_timeout=10s",
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
    // That of the server, now and not when the transaction began: those who share it may have other clocks.
    now: "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
    // No two transactions that write are open at once.
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

/** The same connection, for texts of any characters. */
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
        `${JSON.stringify(schema)} is no name for a schema. Use up to 63 small letters, digits and underscores.`
      )
    }
    const at = place(text)
    const dialect = makeDialect(at)
    const full = new URL(text)
    full.searchParams.set("options", `${full.searchParams.get("options") ?? ""} ${settings(schema)}`.trim())
    const opened = (error: SqlError) => dialect.explain("open", error)
    const client = yield* PgClient.make({
      url: Redacted.make(full.href),
      applicationName: "skein",
      maxConnections,
      connectTimeout: "10 seconds",
      idleTimeout: "60 seconds",
      stream: () => new Socket().setKeepAlive(true, keepAlive)
    }).pipe(Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make), Effect.mapError(opened))
    // The client loses a connection whose asker is interrupted meanwhile.
    const reserve = Effect.map(Effect.uninterruptible(client.reserve), forAnyText)
    return {
      at,
      dialect,
      schema,
      connection: {
        execute: (sql, params, transform) =>
          Effect.scoped(Effect.flatMap(reserve, (connection) => connection.execute(sql, params, transform)))
      },
      use: (use) =>
        Effect.scoped(
          Effect.flatMap(Effect.mapError(reserve, (error) => dialect.explain("connect", error)), use)
        )
    }
  })
