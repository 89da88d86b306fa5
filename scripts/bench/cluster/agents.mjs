// @ts-check
// Subagents by the thousand: what a waiting one takes, on one server without a cluster and on three.
import { existsSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { startFleet } from "../../cluster/fleet.mjs"
import { memoryOf } from "../server/serve.mjs"
import { heapFile } from "./heapFile.mjs"

/** @typedef {import("../rows.mjs").Row} Row */
/** @typedef {{ readonly name: string, readonly working: number }} Wait what subagents wait for, and how many of a tree or a server work */
/** @typedef {{ readonly alive: number, readonly resident: number, readonly live: number, readonly took: number }} Figures in bytes and milliseconds */

/** The most that a waiting one should take (KB). */
const most = 15

const trees = 30

/** How many of a server do not wait. */
const few = 20

const many = 20_000

/** @type {ReadonlyArray<Wait>} */
const waits = [
  { name: "a slot", working: few },
  { name: "its model, with an open request", working: many }
]

const heap = fileURLToPath(new URL("heap.mjs", import.meta.url))

/** As users start it, and asked for its heap. */
const node = ["--max-semi-space-size=8", "--expose-gc", "--import", heap]

/** What is alive in a server, in bytes. @param {import("../../cluster/server.mjs").Server} server */
const aliveIn = async (server) => {
  const file = join(server.data, heapFile)
  rmSync(file, { force: true })
  server.signal("SIGUSR2")
  while (!existsSync(file)) await sleep(50)
  return /** @type {number} */ (JSON.parse(readFileSync(file, "utf8")).alive)
}

/**
 * Starts subagents that wait, and measures when all are there.
 * @param {string} program @param {number} servers @param {Wait} wait @param {number} parts of each tree
 * @returns {Promise<Figures>}
 */
const grown = async (program, servers, { working }, parts) => {
  const fleet = await startFleet({
    program,
    node,
    servers,
    isAlone: servers === 1,
    trees,
    parts,
    pace: 0,
    hangs: true,
    limits: {
      concurrency: working,
      process_concurrency: working,
      max_tasks: many,
      requests: many,
      answer: { calls: many, arguments: 100_000_000 }
    }
  })
  try {
    const began = performance.now()
    const count = async () =>
      Number((await fleet.query("SELECT count(*)::integer AS n FROM skein.run WHERE state <> 'settled'"))[0]?.n)
    const all = trees * parts
    while ((await count()) < all) await sleep(200)
    if (working === many) { while (fleet.requests() < trees + all) await sleep(200) }
    const took = performance.now() - began
    // What the start left behind is collected by and by.
    await sleep(10_000)
    const sum = (/** @type {ReadonlyArray<number>} */ each) => each.reduce((total, one) => total + one, 0)
    const resident = sum(fleet.servers.map((server) => memoryOf(server.pid()))) * 1_024 * 1_024
    return { alive: sum(await Promise.all(fleet.servers.map(aliveIn))), resident, live: await count(), took }
  } finally {
    await fleet.close()
  }
}

/** @param {string} program @param {number} agents @returns {Promise<ReadonlyArray<Row>>} */
export const measureAgents = async (program, agents) => {
  /** @type {Array<Row>} */
  const rows = []
  for (const [servers, where] of /** @type {const} */ ([[1, "one server without a cluster"], [3, "three servers"]])) {
    const parts = Math.ceil(agents / 3 * servers / trees)
    for (const wait of waits) {
      // The same trees and the same number at work; what differs waits.
      const base = await grown(program, servers, wait, Math.ceil(few * servers / trees) + 2)
      const full = await grown(program, servers, wait, parts)
      /** @param {"alive" | "resident"} what */
      const each = (what) => (full[what] - base[what]) / (full.live - base.live) / 1_024
      const megabytes = (/** @type {number} */ bytes) => `${(bytes / 1_024 / 1_024).toFixed(0)} MB`
      const note = (/** @type {string} */ name, /** @type {string} */ value) => ({ name, value, target: "", met: true })
      rows.push(
        note(`${full.live} on ${where}, each for ${wait.name}`, `${(full.took / 1_000).toFixed(0)} s`),
        note("… alive in all, resident in all", `${megabytes(full.alive)}, ${megabytes(full.resident)}`),
        {
          name: "… alive for each",
          value: `${each("alive").toFixed(1)} KB`,
          target: `${most} KB`,
          met: each("alive") <= most
        },
        note("… resident for each", `${each("resident").toFixed(1)} KB`)
      )
      for (const { name, value } of rows.slice(-4)) process.stderr.write(`${name}: ${value}\n`)
    }
  }
  return rows
}
