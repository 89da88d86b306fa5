/** Creates tables in the database of the sessions. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { unavailable } from "../ClusterUnavailable.ts"

const nameOf = (statement: string): string => /IF NOT EXISTS (\w+)/.exec(statement)?.[1] ?? ""

/**
 * Creates those that are missing. If none is, no right to create tables is needed. Two processes that create a table at once
 * may both find it missing: then it tries again.
 */
export const createTables = Effect.fnUntraced(function*(statements: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const create = Effect.forEach(statements, (statement) =>
    Effect.gen(function*() {
      const [row] = yield* sql<{ readonly found: boolean }>`SELECT to_regclass(${
        nameOf(statement)
      }) IS NOT NULL AS found`
      if (row?.found !== true) yield* sql.unsafe(statement)
    }), { discard: true })
  yield* create.pipe(
    Effect.retry(Schedule.intersect(Schedule.spaced("50 millis"), Schedule.recurs(10))),
    Effect.mapError(unavailable("The tables of the cluster cannot be created"))
  )
})
