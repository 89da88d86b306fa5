// @ts-check
// From the start of the program to a prompt that takes keys, beside a whole `skein run`.
import { median } from "../median.mjs"
import { makeWorld, ready } from "./world.mjs"

/** @param {number} rounds @returns {Promise<ReadonlyArray<import("../terminal.mjs").Row>>} */
export const measureOpening = async (rounds) => {
  const world = await makeWorld()
  /** @type {Array<number>} */
  const opened = []
  /** @type {Array<number>} */
  const ran = []
  // The first of each warms caches of the file system and of compiled code.
  for (let round = 0; round <= rounds; round++) {
    const began = performance.now()
    await world.run(["run", "-m", "openai/m", "--format", "quiet", "PING"])
    ran.push(performance.now() - began)
    const seat = world.open()
    opened.push(await seat.printed(ready) - seat.began)
    await seat.kill()
  }
  world.close()
  const [session, run] = [median(opened.slice(1)), median(ran.slice(1))]
  const ratio = session / run
  return [{
    name: `a prompt that takes keys (${session.toFixed(0)} ms), to skein run (${run.toFixed(0)} ms)`,
    value: `${ratio.toFixed(2)} x`,
    target: "at most 1.6 x",
    met: ratio <= 1.6
  }]
}
