// @ts-check
// `npm run bench:server`: what the server costs. Measures the built program: events to many clients, idle clients, a
// trivial route beside the bare framework, and how much later than in-process a client gets the first event of its
// prompt. `--seconds 10`, `--subscribers 500`, `--idle 10000` and `--only events,idle,route,prompt,tree` choose less.
import { parseArgs } from "node:util"
import { measureParts } from "./rows.mjs"
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

await measureParts({
  events: () =>
    measureEvents({ subscribers: Number(values.subscribers), perSecond: 200, seconds: Number(values.seconds) }),
  idle: () => measureIdle(Number(values.idle)),
  route: () => measureRoute(Number(values.seconds) / 5),
  prompt: () => measurePrompt(200),
  tree: () => measureTree(5)
}, values.only)
