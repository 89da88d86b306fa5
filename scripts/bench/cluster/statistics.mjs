// @ts-check
// What a fleet costs its PostgreSQL: counted by pg_stat_statements and the statistics of the database.
import { setTimeout as sleep } from "node:timers/promises"

/** @typedef {{ readonly statements: number, readonly commits: number, readonly writes: number, readonly wal: number, readonly busy: number, readonly notifies: number, readonly connections: number, readonly kinds: ReadonlyArray<{ readonly query: string, readonly calls: number }> }} Cost per second, except for `connections`; `writes` counts rows, `wal` bytes, `busy` seconds of execution */

const counters = `SELECT
  (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::float AS commits,
  (SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) FROM pg_stat_user_tables)::float AS writes,
  (SELECT wal_bytes FROM pg_stat_wal)::float AS wal`

/** Counts for so many seconds. @param {import("../../cluster/fleet.mjs").Fleet} fleet @param {number} seconds @returns {Promise<Cost>} */
export const costOf = async ({ query }, seconds) => {
  await query("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
  await query("SELECT pg_stat_statements_reset()")
  const [before] = await query(counters)
  const began = performance.now()
  await sleep(seconds * 1_000)
  const rows = await query(
    `SELECT query, sum(calls)::float AS calls, sum(total_exec_time)::float AS time FROM pg_stat_statements
      JOIN pg_database ON oid = dbid WHERE datname = current_database() AND query NOT LIKE '%pg_stat%'
      GROUP BY query ORDER BY calls DESC`
  )
  const took = (performance.now() - began) / 1_000
  // Statistics of a connection arrive within a second.
  await sleep(1_000)
  const [after] = await query(counters)
  const [open] = await query("SELECT count(*)::integer AS n FROM pg_stat_activity WHERE datname = current_database()")
  const sum = (/** @type {string} */ of, matching = /./) =>
    rows.filter((row) => matching.test(row.query)).reduce((total, row) => total + row[of], 0)
  return {
    statements: sum("calls") / took,
    commits: (after.commits - before.commits) / took,
    writes: (after.writes - before.writes) / took,
    wal: (after.wal - before.wal) / took,
    busy: sum("time") / 1_000 / took,
    notifies: sum("calls", /pg_notify|^NOTIFY/i) / took,
    connections: open.n - 1,
    kinds: rows.map(({ calls, query: text }) => ({
      query: text.replace(/\s+/g, " ").slice(0, 100),
      calls: calls / took
    }))
  }
}
