// @ts-check
// `npm run bench:terminal`: what the terminal session costs. Runs the built program on a terminal of its own (python3 makes
// it), with a model that answers at once or streams. `--only open,flock,history,long`, `--rounds 9`, `--seconds 20`,
// `--agents 100` choose less. The figures of processes come from /proc, so it needs Linux.
import { parseArgs } from "node:util"
import { measureParts } from "./rows.mjs"
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

const flock = { agents: Number(values.agents), seconds: Number(values.seconds) }

await measureParts({
  open: () => measureOpening(Number(values.rounds)),
  flock: async () => [
    ...await measureFlock({ ...flock, isAttached: true }),
    ...await measureFlock({ ...flock, isAttached: false })
  ],
  history: () => measureHistory(10_000),
  long: () => measureLong(20)
}, values.only)
