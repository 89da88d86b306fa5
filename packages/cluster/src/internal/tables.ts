/** Creates the tables of the cluster, and columns that older versions do not have, in the database of the sessions. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { unavailable } from "../ClusterUnavailable.ts"

/** The tables of directories: by what a host proves that it sees one, and which trees wait for the host of theirs. */
export const placeTables = [
  `CREATE TABLE IF NOT EXISTS cluster_directory (
    host TEXT NOT NULL, directory TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (host, directory)
  )`,
  `CREATE TABLE IF NOT EXISTS cluster_waiting (
    root_id TEXT PRIMARY KEY, host TEXT NOT NULL, directory TEXT NOT NULL, seen TIMESTAMPTZ NOT NULL
  )`
]

const nameOf = (statement: string): string => /IF NOT EXISTS (\w+)/.exec(statement)?.[1] ?? ""

/** The table of a statement that adds a column. */
const extended = (statement: string): string | undefined => /^ALTER TABLE (\w+)/.exec(statement)?.[1]

const isThere = Effect.fnUntraced(function*(statement: string) {
  const sql = yield* SqlClient.SqlClient
  const table = extended(statement)
  const [row] = table === undefined
    ? yield* sql<{ readonly found: boolean }>`SELECT to_regclass(${nameOf(statement)}) IS NOT NULL AS found`
    : yield* sql<{ readonly found: boolean }>`SELECT EXISTS (SELECT FROM pg_attribute WHERE NOT attisdropped
        AND attrelid = to_regclass(${table}) AND attname = ${nameOf(statement)}) AS found`
  return row?.found === true
})

/**
 * Creates those that are missing. If none is, no right to create tables is needed. Two processes that create a table at once
 * may both find it missing: then it tries again.
 */
export const createTables = Effect.fnUntraced(function*(statements: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const create = Effect.forEach(statements, (statement) =>
    Effect.gen(function*() {
      if (!(yield* isThere(statement))) yield* sql.unsafe(statement)
    }), { discard: true })
  yield* create.pipe(
    Effect.retry(Schedule.intersect(Schedule.spaced("50 millis"), Schedule.recurs(10))),
    Effect.mapError(unavailable("The tables of the cluster cannot be created"))
  )
})
