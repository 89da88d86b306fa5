// @ts-check
// `npm run bench:server`: what the server costs. Measures the built program: events to many clients, idle clients, a
// trivial route beside the bare framework, and how much later than in-process a client gets the first event of its
// prompt. `--seconds 10`, `--subscribers 500`, `--idle 10000` and `--only events,idle,route,prompt,tree` choose less.
import { parseArgs } from "node:util"
import { measureEvents } from "./server/events.mjs"
import { measureIdle } from "./server/idle.mjs"
import { measurePrompt } from "./server/prompt.mjs"
import { measureRoute } from "./server/route.mjs"
import { measureTree } from "./server/tree.mjs"

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "10" },
    subscribers: { type: "string", default: "500" },
    idle: { type: "string", default: "10000" },
    only: { type: "string", default: "events,idle,route,prompt,tree" }
  }
})

/** @typedef {{ readonly name: string, readonly value: string, readonly target: string, readonly met: boolean }} Row */

/** @type {Readonly<Record<string, () => Promise<ReadonlyArray<Row>>>>} */
const parts = {
  events: () =>
    measureEvents({ subscribers: Number(values.subscribers), perSecond: 200, seconds: Number(values.seconds) }),
  idle: () => measureIdle(Number(values.idle)),
  route: () => measureRoute(Number(values.seconds) / 5),
  prompt: () => measurePrompt(200),
  tree: () => measureTree(5)
}

let failed = false
for (const part of values.only.split(",")) {
  const measure = parts[part]
  if (measure === undefined) throw new Error(`There is no part ${part}. There are ${Object.keys(parts).join(", ")}.`)
  for (const { met, name, target, value } of await measure()) {
    failed ||= !met
    console.log(`${met ? "ok  " : "MISS"} ${name.padEnd(52)} ${value.padStart(14)}  (${target})`)
  }
}
process.exit(failed ? 1 : 0)
