// @ts-check
// `npm run bench:terminal`: what the terminal session costs. Runs the built program on a terminal of its own (python3 makes
// it), with a model that answers at once or streams. `--only open,flock,history,long`, `--rounds 9`, `--seconds 20`,
// `--agents 100` choose less. The figures of processes come from /proc, so it needs Linux.
import { parseArgs } from "node:util"
import { measureFlock } from "./terminal/flock.mjs"
import { measureHistory } from "./terminal/history.mjs"
import { measureLong } from "./terminal/long.mjs"
import { measureOpening } from "./terminal/opening.mjs"

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "open,flock,history,long" },
    rounds: { type: "string", default: "9" },
    seconds: { type: "string", default: "20" },
    agents: { type: "string", default: "100" }
  }
})

/** @typedef {{ readonly name: string, readonly value: string, readonly target: string, readonly met: boolean }} Row */

const flock = { agents: Number(values.agents), seconds: Number(values.seconds) }

/** @type {Readonly<Record<string, () => Promise<ReadonlyArray<Row>>>>} */
const parts = {
  open: () => measureOpening(Number(values.rounds)),
  flock: async () => [
    ...await measureFlock({ ...flock, isAttached: true }),
    ...await measureFlock({ ...flock, isAttached: false })
  ],
  history: () => measureHistory(10_000),
  long: () => measureLong(20)
}

let failed = false
for (const part of values.only.split(",")) {
  const measure = parts[part]
  if (measure === undefined) throw new Error(`There is no part ${part}. There are ${Object.keys(parts).join(", ")}.`)
  for (const { met, name, target, value } of await measure()) {
    failed ||= !met
    console.log(`${met ? "ok  " : "MISS"} ${name.padEnd(58)} ${value.padStart(12)}  (${target})`)
  }
}
process.exit(failed ? 1 : 0)
