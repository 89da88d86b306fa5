// @ts-check
// What servers without work cost their PostgreSQL, by how many they are.
import { startFleet } from "../../cluster/fleet.mjs"
import { costOf } from "./statistics.mjs"

/** @typedef {import("../rows.mjs").Row} Row */

/** @param {string} program @param {number} seconds @returns {Promise<ReadonlyArray<Row>>} */
export const measureIdle = async (program, seconds) => {
  /** @type {Array<Row>} */
  const rows = []
  for (const servers of [1, 3]) {
    const fleet = await startFleet({ program, trees: 0, servers })
    try {
      const cost = await costOf(fleet, seconds)
      const of = servers === 1 ? "one idle server" : `${servers} idle servers`
      for (const { calls, query } of cost.kinds.slice(0, 12)) {
        process.stderr.write(`${of}: ${calls.toFixed(2)} / s  ${query}\n`)
      }
      rows.push(
        ...[
          [`${of}: statements / s`, cost.statements.toFixed(1)],
          ["… commits / s", cost.commits.toFixed(1)],
          ["… rows written / s", cost.writes.toFixed(1)],
          ["… write-ahead log, KB / s", (cost.wal / 1_000).toFixed(1)],
          ["… time in statements, s / s", cost.busy.toFixed(4)],
          ["… notifications / s", cost.notifies.toFixed(1)],
          ["… connections", String(cost.connections)]
        ].map(([name = "", value = ""]) => ({ name, value, target: "", met: true }))
      )
    } finally {
      await fleet.close()
    }
  }
  return rows
}
