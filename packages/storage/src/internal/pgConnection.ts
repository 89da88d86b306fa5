/** Owns the connections to a PostgreSQL database. */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as PgClient from "@effect/sql-pg/PgClient"
import type { SqlError } from "@effect/sql/SqlError"
import { makeLeaving } from "@skein/core/Fibers"
import { type Heard, makeSilence, type Wire } from "@skein/core/Silence"
import { StorageError } from "@skein/core/StorageError"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { Socket } from "node:net"
import { faultOf, forClient, place } from "../PostgresUrl.ts"
import type { Connection, Dialect } from "./dialect.ts"
import { explain } from "./pgError.ts"

/** A reserved connection, as `PgClient` of this version makes it; `stream` is the socket, or the encrypted one on it. */
interface Reserved extends Connection {
  readonly pg: { readonly connection: { readonly stream: Wire } }
}

/** The socket of a reserved connection. */
const wireOf = (connection: Connection): Wire => (connection as Reserved).pg.connection.stream

// JSON escapes all of these, so only columns outside `data` may contain any. The escape mark is one of them.
const mark = "\u001a"
const untaken = new RegExp(`[\\u0000${mark}\\ud800-\\udfff]`, "u")
const eachUntaken = new RegExp(untaken.source, "gu")
const eachMarked = new RegExp(`${mark}([0-9a-f]{4})`, "g")

/** The stored form of a text. Different texts have different forms, so that lookups work. */
const toStored = (text: string): string =>
  untaken.test(text)
    ? text.replace(eachUntaken, (one) => mark + one.charCodeAt(0).toString(16).padStart(4, "0"))
    : text

/** Whether a stored text differs from the original. */
const hasMark = (text: string): boolean => text.includes(mark)

/** The original of a stored text. */
const fromStored = (text: string): string =>
  text.replace(eachMarked, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

/** An open database. */
export interface Postgres {
  readonly dialect: Dialect
  /** The address for error messages. */
  readonly at: string
  /** The PostgreSQL schema of the tables. */
  readonly schema: string
  /** Any connection: each statement is its own transaction. */
  readonly connection: Connection
  /** A connection that nothing but renewals of leases uses. It ends soon if nothing comes of one. */
  readonly renewals: Connection
  /** The same one, with the patience of all others. */
  readonly patientRenewals: Connection
  /** Uses one connection for several statements. */
  readonly use: Use
  /** The same for the transaction that writes. It does not wait for reads, however many there are: all others wait for it. */
  readonly write: Use
  /** The same for statements that may take long: they are not ended if nothing comes of them. */
  readonly useLong: Use
}

type Use = <A, E>(use: (connection: Connection) => Effect.Effect<A, E>) => Effect.Effect<A, E | StorageError>

/** Connections for reads. */
const maxReading = 5

/** Connections for the transaction that writes: only one is open at a time. */
const maxWriting = 1

/** How long a statement waits for a lock at most. The commit or renewal that it belongs to is tried again. */
const lockTimeout = "5s"

/** Detects a dead peer after this many milliseconds and ten more probes. */
const keepAlive = 10_000

/**
 * For how long nothing may come of a statement before its connection counts as lost. It is repeated on another one. Longer
 * than a statement waits for a lock.
 */
const patience = "10 seconds"

/**
 * The same for the first try to renew leases: none may run out before there is a new connection. They are renewed every second,
 * and last for three.
 */
const patienceOfRenewals = "1500 millis"

/**
 * The settings of a connection. A process that is frozen, or whose network is gone, must not block the others for long with an
 * open transaction. One that was ended for that is repeated. The server looks whether the other end is there after 2 idle
 * seconds, 3 times.
 */
const settings = (schema: string): string =>
  [
    `search_path=${schema}`,
    `lock_timeout=${lockTimeout}`,
    "idle_in_transaction_session_timeout=2s",
    "tcp_keepalives_idle=2",
    "tcp_keepalives_interval=1",
    "tcp_keepalives_count=3",
    "tcp_user_timeout=5000",
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
    json: (text) => `CAST(to_json(${text}) AS TEXT)`,
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
    const fault = faultOf(text)
    if (fault !== undefined) return yield* refuse(fault)
    if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
      return yield* refuse(
        `${JSON.stringify(schema)} is not a name for a schema. Use up to 63 small letters, digits and underscores.`
      )
    }
    const at = place(text)
    const dialect = makeDialect(at)
    const full = forClient(text)
    full.searchParams.set("options", `${full.searchParams.get("options") ?? ""} ${settings(schema)}`.trim())
    const opened = (error: SqlError) => dialect.explain("open", error)
    const clientWith = (applicationName: string, most: number) =>
      PgClient.make({
        url: Redacted.make(full.href),
        applicationName,
        maxConnections: most,
        connectTimeout: "10 seconds",
        idleTimeout: "60 seconds",
        stream: () => new Socket().setKeepAlive(true, keepAlive)
      }).pipe(Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make), Effect.mapError(opened))
    // The client leaks a connection whose requester is interrupted meanwhile.
    const reserved = ({ reserve }: PgClient.PgClient) => Effect.uninterruptible(reserve)
    const leaving = yield* makeLeaving
    const heardOn = (heard: Heard) => (connection: Connection): Connection => {
      const asks = heard(wireOf(connection))
      // To end an interrupted statement, the client needs another connection of the pool. If all of them are interrupted at
      // once, each waits for the others.
      return { execute: (...given) => Effect.uninterruptible(asks(connection.execute(...given))) }
    }
    const each = (reserving: Effect.Effect<Connection, SqlError, Scope.Scope>): Connection => ({
      execute: (sql, params, transform) =>
        leaving(Effect.scoped(Effect.flatMap(reserving, (connection) => connection.execute(sql, params, transform))))
    })
    const usedBy = (reserving: Effect.Effect<Connection, SqlError, Scope.Scope>): Use => (use) =>
      leaving(
        Effect.scoped(Effect.flatMap(Effect.mapError(reserving, (error) => dialect.explain("connect", error)), use))
      )
    const heard = yield* makeSilence(patience)
    const heardSoon = yield* makeSilence(patienceOfRenewals)
    const reading = reserved(yield* clientWith("skein", maxReading))
    const writing = reserved(yield* clientWith("skein", maxWriting))
    const heardFrom = (reserving: typeof reading) =>
      Effect.map(reserving, (connection) => forAnyText(heardOn(heard)(connection)))
    const renewing = reserved(yield* clientWith("skein-leases", 1))
    const renewingOn = (by: Heard) => each(Effect.map(renewing, (connection) => forAnyText(heardOn(by)(connection))))
    return {
      at,
      dialect,
      schema,
      connection: each(heardFrom(reading)),
      renewals: renewingOn(heardSoon),
      patientRenewals: renewingOn(heard),
      use: usedBy(heardFrom(reading)),
      write: usedBy(heardFrom(writing)),
      useLong: usedBy(Effect.map(reading, forAnyText))
    }
  })
