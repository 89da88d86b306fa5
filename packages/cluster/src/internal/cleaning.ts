/** Deletes what servers that are gone have left in the tables, once nobody asks for it any more. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { makeLogged } from "./entries.ts"
import { inTransaction } from "./ownConnection.ts"

/** How often each server cleans, besides when it starts. */
const pace = "6 hours"

/**
 * For how long rows are kept that nobody renews. All readers have ignored them for long by then, and a server that was frozen
 * makes its rows again. Longer than clocks of sessions may differ: the engine stores times without their zone.
 */
const kept = "2 days"

const unseen = (column: string, now = "clock_timestamp()"): string => `${column} < ${now} - interval '${kept}'`

/** The tables, and which of their rows nobody needs. */
const leftovers: ReadonlyArray<readonly [table: string, condition: string]> = [
  ["cluster_member", unseen("seen")],
  ["cluster_share", unseen("seen")],
  ["cluster_pause", unseen("until")],
  ["cluster_waiting", unseen("seen")],
  ["cluster_takeover", unseen("at")],
  ["cluster_left", unseen("at")],
  ["cluster_failure", unseen("next_try")],
  // The engine's: a server at its address makes its row again.
  ["cluster_runners", unseen("last_heartbeat", "LOCALTIMESTAMP")],
  // What proves that hosts share a directory is needed while there is a session in it.
  [
    "cluster_directory",
    "NOT EXISTS (SELECT FROM session WHERE session.directory = cluster_directory.directory)"
  ]
]

/** A row that is stored meanwhile, such as the proof of a new session, is not judged by what was there before. */
const deleteFrom = (sql: SqlClient.SqlClient, table: string, condition: string) =>
  Effect.gen(function*() {
    const [row] = yield* sql<{ readonly found: boolean }>`SELECT to_regclass(${table}) IS NOT NULL AS found`
    if (row?.found !== true) return
    yield* inTransaction(sql)(Effect.gen(function*() {
      yield* sql.unsafe(`LOCK TABLE ${table} IN EXCLUSIVE MODE`)
      yield* sql.unsafe(`DELETE FROM ${table} WHERE ${condition}`)
    }))
  })

/** Cleans the tables that exist now, and then from time to time, until the scope closes. */
export const keepClean = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const logged = yield* makeLogged
  const clean = Effect.forEach(leftovers, ([table, condition]) => deleteFrom(sql, table, condition), { discard: true })
  yield* Effect.forkScoped(Effect.repeat(logged(clean, undefined), Schedule.spaced(pace)))
})
