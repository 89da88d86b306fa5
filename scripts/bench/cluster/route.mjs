// @ts-check
// How much longer a prompt takes that another server has to be asked for.
import { setTimeout as sleep } from "node:timers/promises"
import { startFleet } from "../../cluster/fleet.mjs"
import { median } from "../measure.mjs"

/** @typedef {import("../rows.mjs").Row} Row */

/** The most that a prompt should cost on top (ms). */
const most = 5

/** @param {string} program @param {number} times @returns {Promise<ReadonlyArray<Row>>} */
export const measureRoute = async (program, times) => {
  const fleet = await startFleet({ program, trees: 1, parts: 1, servers: 2, pace: 0, hangs: true })
  try {
    // A tree at work stays where it is.
    while (fleet.requests() < 2) await sleep(50)
    const [id] = fleet.ids
    const [{ owner }] = await fleet.query("SELECT owner FROM skein.session WHERE id = $1", [id])
    const isHere = (/** @type {import("../../cluster/server.mjs").Server} */ { url }) =>
      owner.startsWith(encodeURIComponent(url))
    const holder = fleet.servers.find(isHere)
    const other = fleet.servers.find((server) => !isHere(server))
    if (holder === undefined || other === undefined) throw new Error("The tree is at neither of the servers.")
    /** @param {typeof holder} server @param {number} nth */
    const prompt = async (server, nth) => {
      const began = performance.now()
      const response = await fetch(`${server.url}/v1/sessions/${id}/prompt`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${server.token()}`,
          "content-type": "application/json",
          "idempotency-key": `bench-${server.number}-${nth}`
        },
        body: JSON.stringify({ text: "A word." })
      })
      await response.text()
      if (response.status !== 202) throw new Error(`The prompt was answered with ${response.status}.`)
      return performance.now() - began
    }
    /** @type {Array<number>} */
    const local = []
    /** @type {Array<number>} */
    const routed = []
    for (let nth = 0; nth < times; nth++) {
      const pair = /** @type {const} */ ([[holder, local], [other, routed]])
      for (const [server, into] of nth % 2 === 0 ? pair : pair.toReversed()) into.push(await prompt(server, nth))
    }
    // The first ones open connections and compile.
    const [here, there] = [local, routed].map((all) => median(all.slice(20)) ?? 0)
    const more = (there ?? 0) - (here ?? 0)
    return [{
      name: "a routed prompt over a local one",
      value: `${here?.toFixed(1)} + ${more.toFixed(1)} ms`,
      target: `+ ${most} ms`,
      met: more <= most
    }]
  } finally {
    await fleet.close()
  }
}
