// @ts-check
// `npm run bench:cluster`: what a cluster costs, on a PostgreSQL of its own. `--only idle,route,alone,agents,storm` chooses;
// `--sessions 1000 --minutes 10` is the full storm, `--agents 10000` how many subagents. Measures a copy of the built
// program, so that you can build meanwhile.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { copyBuilt } from "../crash/copy.mjs"
import { measureAgents } from "./cluster/agents.mjs"
import { measureAlone } from "./cluster/alone.mjs"
import { measureIdle } from "./cluster/idle.mjs"
import { measureRoute } from "./cluster/route.mjs"
import { measureStorm } from "./cluster/storm.mjs"
import { measureParts } from "./rows.mjs"

const { values } = parseArgs({
  options: {
    agents: { type: "string", default: "10000" },
    sessions: { type: "string", default: "1000" },
    minutes: { type: "string", default: "10" },
    pace: { type: "string", default: "500" },
    only: { type: "string", default: "idle,route,alone,agents,storm" }
  }
})

const directory = mkdtempSync(join(tmpdir(), "skein-bench-program-"))
process.once("exit", () => rmSync(directory, { recursive: true, force: true }))
const program = copyBuilt(directory)

await measureParts({
  idle: () => measureIdle(program, 20),
  route: () => measureRoute(program, 320),
  alone: () => measureAlone(program, 7),
  agents: () => measureAgents(program, Number(values.agents)),
  storm: () =>
    measureStorm(program, {
      sessions: Number(values.sessions),
      minutes: Number(values.minutes),
      pace: Number(values.pace)
    })
}, values.only)
