// @ts-check
// What happens to servers of a cluster while they work.
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

/** @typedef {import("./runner.mjs").Runner} Runner */
/** @typedef {"kill" | "freeze" | "leave" | "cut" | "locks" | "roll" | "join" | "silence"} How */
/** @typedef {import("./silence.mjs").Silence & { readonly length: number }} Quiet how a runner hears nothing of PostgreSQL, and for how long (ms) */
/**
 * What happens to a runner, so many milliseconds after the start, or after trees of a runner that got the blow `after` work
 * again. One that is killed, frozen or asked to leave holds a tree, if any does: the first from this one on.
 * @typedef {{ readonly at: number, readonly runner: number, readonly how: How, readonly quiet?: Quiet, readonly after?: How }} Blow
 */

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

/** What is only worth something where a tree is. @type {ReadonlySet<How>} */
const atHolders = new Set(["kill", "freeze", "leave"])

/**
 * The runner that a blow hits. @param {Blow} blow @param {{ readonly database: string, readonly postgres:
 * import("./postgres.mjs").Postgres, readonly runners: ReadonlyArray<Runner> }} world
 */
export const hitBy = async ({ how, runner: which }, { database, postgres, runners }) => {
  const named = runners[which]
  if (!atHolders.has(how)) return named
  const held = "SELECT owner FROM skein.session WHERE id = root_id AND owner IS NOT NULL"
  const pids = (await postgres.query(database, held)).map(({ owner }) => Number(owner.split(":").at(-4)))
  return [...runners.slice(which), ...runners.slice(0, which)].find((each) =>
    pids.includes(each.up()?.found.pid ?? 0)
  ) ?? named
}

/**
 * Carries one out, at this runner.
 * @param {Blow} blow
 * @param {{ readonly runners: ReadonlyArray<Runner>, readonly frozen: number, readonly base: string, readonly postgres: import("./postgres.mjs").Postgres, readonly database: string, readonly ways: ReadonlyArray<import("./silence.mjs").SilentWay> }} world
 * @param {Runner | undefined} runner
 */
export const strike = async (
  { how, quiet, runner: which },
  { base, database, frozen, postgres, runners, ways },
  runner
) => {
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
