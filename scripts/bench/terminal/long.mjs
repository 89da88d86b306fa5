// @ts-check
// Whether memory stays flat over a long stream: as many deltas as an hour has at 20 a second, as fast as they are taken.
// Counted is what is alive after a collection: V8 lets a heap grow until it has a reason to collect.
import { readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { makeWorld, ready } from "./world.mjs"

/** How many deltas a turn has: 20 turns make an hour. */
const deltas = 3_600

/** How many turns load what later ones need. */
const warming = 4

/** The size of a heap in a snapshot, in MB. @param {string} text */
const sizeOf = (text) => {
  const { nodes, snapshot } = JSON.parse(text)
  const fields = snapshot.meta.node_fields
  const at = fields.indexOf("self_size")
  let size = 0
  for (let node = at; node < nodes.length; node += fields.length) size += nodes[node]
  return size / 1_000_000
}

/** @param {number} rounds @returns {Promise<ReadonlyArray<import("../terminal.mjs").Row>>} */
export const measureLong = async (rounds) => {
  const world = await makeWorld({ NODE_OPTIONS: "--heapsnapshot-signal=SIGUSR2" })
  const seat = world.open()
  await seat.printed(ready)
  const { project } = world.home
  const pause = () => new Promise((resolve) => setTimeout(resolve, 500))
  /** What is alive, in MB. */
  const alive = async () => {
    process.kill(seat.pid(), "SIGUSR2")
    for (;;) {
      await pause()
      const name = readdirSync(project).find((each) => each.endsWith(".heapsnapshot"))
      const text = name === undefined ? "" : readFileSync(join(project, name), "utf8")
      if (name === undefined || !text.trimEnd().endsWith("}")) continue
      rmSync(join(project, name))
      return sizeOf(text)
    }
  }
  /** @param {number} count */
  const stream = async (count) => {
    for (let turn = 0; turn < count; turn++) {
      const done = seat.printed("LONG DONE")
      seat.type(`LONG ${deltas}\r`)
      await done
      await pause()
    }
  }
  await stream(warming)
  const before = await alive()
  await stream(rounds)
  const after = await alive()
  await seat.kill()
  world.close()
  const growth = after - before
  const text = `memory alive after ${(rounds * deltas).toLocaleString("en")} deltas, from ${before.toFixed(0)} MB`
  return [{
    name: text,
    value: `${growth >= 0 ? "+" : ""}${growth.toFixed(1)} MB`,
    target: "20 MB more",
    met: growth <= 20
  }]
}
