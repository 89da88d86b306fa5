// @ts-check
// Sessions at work while a server is killed every ten seconds: what is lost, and how long trees are without a server.
import { setTimeout as sleep } from "node:timers/promises"
import { startFleet } from "../../cluster/fleet.mjs"
import { costOf } from "./statistics.mjs"

/** @typedef {import("../rows.mjs").Row} Row */

const every = 10_000
const absence = 3_000

/** What half and 95 % of the trees should not exceed (ms). */
const targets = { median: 3_000, p95: 5_000 }

/** @param {ReadonlyArray<number>} sorted @param {number} share */
const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0

/** @param {number} milliseconds */
const seconds = (milliseconds) => `${(milliseconds / 1_000).toFixed(1)} s`

/**
 * @param {string} program
 * @param {{ readonly sessions: number, readonly minutes: number, readonly pace: number }} options `pace`: how long each
 *   piece of an answer takes (ms)
 * @returns {Promise<ReadonlyArray<Row>>}
 */
export const measureStorm = async (program, { minutes, pace, sessions }) => {
  const fleet = await startFleet({ program, trees: sessions, parts: 2, pace })
  try {
    while (fleet.ids.filter((id) => id !== "").length < sessions) await sleep(100)
    await sleep(5_000)
    const asked = fleet.requests()
    const began = performance.now()
    const cost = await costOf(fleet, 15)
    const rate = (fleet.requests() - asked) / (performance.now() - began) * 1_000
    const blows = []
    for (let kill = 0; kill < minutes * 60_000 / every; kill++) {
      const server = fleet.servers[kill % fleet.servers.length]
      if (server === undefined) throw new Error("There is no server.")
      const until = performance.now() + every
      const blow = await fleet.strike(server, server.kill)
      blows.push(blow)
      await sleep(absence)
      await server.start()
      process.stderr.write(
        `kill ${kill + 1}: ${blow.trees} trees at work, ${blow.times.length} of them continue, the last after ${
          seconds(Math.max(0, ...blow.times))
        }\n`
      )
      await sleep(Math.max(0, until - performance.now()))
    }
    const { doubled, invalid, lost, rounds, stuck } = await fleet.settle(180_000)
    for (const fault of [...lost, ...doubled, ...stuck, ...invalid].slice(0, 20)) process.stderr.write(`  ${fault}\n`)
    const times = blows.flatMap((blow) => blow.times).toSorted((a, b) => a - b)
    const [half, most, last] = [quantile(times, 0.5), quantile(times, 0.95), times.at(-1) ?? 0]
    const zero = (/** @type {string} */ name, /** @type {ReadonlyArray<string>} */ found) => ({
      name,
      value: String(found.length),
      target: "0",
      met: found.length === 0
    })
    return [
      ...[
        [`${sessions} sessions: model requests / s before the first kill`, rate.toFixed(1)],
        ["… statements / s", cost.statements.toFixed(0)],
        ["… commits / s", cost.commits.toFixed(0)],
        ["… rows written / s", cost.writes.toFixed(0)],
        ["… write-ahead log, KB / s", (cost.wal / 1_000).toFixed(0)],
        ["… notifications / s", cost.notifies.toFixed(1)],
        ["… time in statements, s / s", cost.busy.toFixed(2)],
        ["… connections of three servers", String(cost.connections)],
        [`${blows.length} kills: trees that were at work there`, String(blows.reduce((n, { trees }) => n + trees, 0))],
        ["… prompts answered in all", String(rounds)]
      ].map(([name = "", value = ""]) => ({ name, value, target: "", met: true })),
      { name: "… next model request, median", value: seconds(half), target: "3 s", met: half <= targets.median },
      { name: "… next model request, 95 %", value: seconds(most), target: "5 s", met: most <= targets.p95 },
      { name: "… next model request, the last", value: seconds(last), target: "", met: true },
      zero("… effects lost", lost),
      zero("… effects doubled", doubled),
      zero("… trees stuck", stuck),
      zero("… invalid requests", invalid)
    ]
  } finally {
    await fleet.close()
  }
}
