// @ts-check
// What the terminal costs while many subagents stream 20 deltas a second each: how late a typed character is on the screen,
// the CPU time of the program, and what it writes.
import { cpuOf, serve } from "../server/serve.mjs"
import { makeWorld, ready } from "./world.mjs"

/** How many deltas a second an agent streams. */
const pace = 20

/** What makes a terminal draw everything anew. */
// oxlint-disable-next-line no-control-regex -- these are what a terminal obeys
const clears = /\x1b\[[23]J|\x1bc/g

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * @param {{ readonly agents: number, readonly seconds: number, readonly isAttached: boolean }} options
 * @returns {Promise<ReadonlyArray<import("../terminal.mjs").Row>>}
 */
export const measureFlock = async ({ agents, isAttached, seconds }) => {
  const world = await makeWorld()
  const server = isAttached ? await serve(world.home) : undefined
  const seat = world.open()
  await seat.printed(ready)
  seat.type(`FLOCK ${agents}\r`)
  await seat.printed(`${agents} running`)
  // Until all of them stream, as far as the machine lets them.
  for (let tries = 0, last = 0; tries < 15; tries++) {
    await pause(1_000)
    const now = await world.sent()
    if (now - last >= agents * pace * 0.95) break
    last = now
  }
  const sent = await world.sent()
  const before = { at: performance.now(), cpu: cpuOf(seat.pid()), bytes: seat.bytes(), pieces: seat.pieces.length }
  /** @type {Array<number>} */
  const late = []
  let typed = ""
  while (performance.now() - before.at < seconds * 1_000) {
    if (typed.length === 30) {
      seat.type("\x15")
      typed = ""
      await pause(100)
    }
    typed += String.fromCharCode(97 + late.length % 26)
    const shown = seat.printed(typed)
    const began = performance.now()
    seat.type(typed.at(-1) ?? "")
    late.push(await shown - began)
    await pause(60 + late.length * 7 % 50)
  }
  const took = (performance.now() - before.at) / 1_000
  const used = (cpuOf(seat.pid()) - before.cpu) * 100 / took
  const deltas = (await world.sent() - sent) / took
  // On a busy machine the model sends less: the share is what all deltas would take.
  const cpu = used * agents * pace / deltas
  const rate = (seat.bytes() - before.bytes) / 1_000 / took
  const drawn = seat.pieces.slice(before.pieces).map(({ text }) => text).join("").match(clears)?.length ?? 0
  await seat.kill()
  await server?.close()
  world.close()
  const sorted = late.toSorted((a, b) => a - b)
  const p99 = sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0
  const where = isAttached ? "attached" : "in one process"
  const of = `${agents} agents stream, ${where}`
  return [
    {
      name: `${of}: a typed character, p99 (median ${(sorted[sorted.length >> 1] ?? 0).toFixed(1)} ms)`,
      value: `${p99.toFixed(1)} ms`,
      target: "33 ms",
      met: p99 <= 33
    },
    {
      name: `${of}: CPU at ${deltas.toFixed(0)} deltas/s, for ${agents * pace}`,
      value: `${cpu.toFixed(0)} %`,
      target: "60 % of one core",
      met: cpu <= 60
    },
    { name: `${of}: written to the terminal`, value: `${rate.toFixed(1)} KB/s`, target: "200 KB/s", met: rate <= 200 },
    { name: `${of}: full redraws`, value: String(drawn), target: "none", met: drawn === 0 }
  ]
}
