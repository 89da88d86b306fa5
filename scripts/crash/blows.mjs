// @ts-check
// What happens to servers of a cluster while they work.
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

/** @typedef {import("./runner.mjs").Runner} Runner */
/** @typedef {"kill" | "freeze" | "leave" | "cut" | "locks" | "roll" | "join" | "silence"} How */
/** @typedef {import("./silence.mjs").Silence & { readonly length: number }} Quiet how a runner hears nothing of PostgreSQL, and for how long (ms) */
/** @typedef {{ readonly at: number, readonly runner: number, readonly how: How, readonly quiet?: Quiet }} Blow what happens to a runner, so many milliseconds after the start */

/** How long two runners do not reach each other, and how long the engine gets no lock (ms). */
const cutFor = 10_000
const lockedFor = 8_000

/** More than the engine has shards, from the number that it begins with. */
const locks = "generate_series(0, 200) AS n"

/** The file that says what is cut. @param {string} base */
export const cutFile = (base) => join(base, "cut")

/** Cuts a runner off from the next one. @param {ReadonlyArray<Runner>} runners @param {number} which @param {string} base */
const cut = async (runners, which, base) => {
  const both = [runners[which % runners.length], runners[(which + 1) % runners.length]].flatMap((each) =>
    each?.up()?.found ?? []
  )
  const said = { pids: both.map(({ pid }) => pid), ports: both.map(({ url }) => Number(new URL(url).port)) }
  writeFileSync(cutFile(base), JSON.stringify(said))
  await sleep(cutFor)
  rmSync(cutFile(base), { force: true })
}

/**
 * Takes all locks of the engine away from their holders, and says that no runner is healthy. @param
 * {import("./postgres.mjs").Postgres} postgres @param {string} database
 */
const faultLocks = async (postgres, database) => {
  await postgres.query(
    database,
    `SELECT pg_terminate_backend(pid) FROM pg_locks
      WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
  )
  await postgres.query(database, "UPDATE skein.cluster_runners SET healthy = FALSE")
  await postgres.query(
    database,
    `WITH taken AS MATERIALIZED (SELECT count(pg_try_advisory_lock(1000000 + n)) FROM ${locks})
      SELECT pg_sleep(${lockedFor / 1_000}) FROM taken`
  )
}

/**
 * Carries one out.
 * @param {Blow} blow
 * @param {{ readonly runners: ReadonlyArray<Runner>, readonly frozen: number, readonly base: string, readonly postgres: import("./postgres.mjs").Postgres, readonly database: string, readonly ways: ReadonlyArray<import("./silence.mjs").SilentWay> }} world
 */
export const strike = async (
  { how, quiet, runner: which },
  { base, database, frozen, postgres, runners, ways }
) => {
  const runner = runners[which]
  switch (how) {
    case "kill":
      return runner?.kill()
    case "freeze":
      return runner?.freeze(frozen)
    case "leave":
      return runner?.leave()
    case "cut":
      return cut(runners, which, base)
    case "locks":
      return faultLocks(postgres, database)
    case "join":
      return runner?.start()
    case "silence":
      if (quiet === undefined) return
      ways[which]?.begin(quiet)
      await sleep(quiet.length)
      return ways[which]?.end()
    case "roll":
      for (const each of runners) await each.leave()
  }
}
