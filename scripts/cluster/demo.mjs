// @ts-check
// `npm run cluster:demo`: three servers on one PostgreSQL with trees of agents at work. One server is killed every ten
// seconds and started again, and the others continue its trees. Needs no key and no network.
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { median } from "../bench/measure.mjs"
import { loadPostgres } from "../crash/postgres.mjs"
import { startFleet } from "./fleet.mjs"

const help = `Usage: npm run cluster:demo -- [--open] [--every SECONDS] [--trees N] [--kills N]

  --open      opens the page in a browser
  --every N   seconds between two kills, 10 by default
  --trees N   how many trees of agents work, 12 by default
  --kills N   ends after so many; without it, Ctrl+C does`

const readFlags = () =>
  parseArgs({
    options: {
      open: { type: "boolean" },
      every: { type: "string", default: "10" },
      trees: { type: "string", default: "12" },
      kills: { type: "string", default: "0" },
      help: { type: "boolean" }
    }
  }).values

/** How long a killed server stays away, and how long to wait for its trees (ms). */
const absence = 3_000
const patience = 30_000

/** @param {string} flag @param {string} text */
const numberOf = (flag, text) => {
  const number = Number(text)
  if (!Number.isFinite(number) || number < 0) throw new Error(`--${flag} takes a number, not ${text}`)
  return number
}

/** @param {string} line */
const say = (line) => process.stdout.write(`${line}\n`)

/** @param {number} milliseconds */
const seconds = (milliseconds) => `${(milliseconds / 1_000).toFixed(1)} s`

const stop = new AbortController()

/** Takes over the signals: PostgreSQL's launcher would end the process at once, with all else left behind. */
const catchSignals = async () => {
  await loadPostgres()
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
    process.removeAllListeners(signal)
    process.on(signal, () => {
      // What hangs must not keep anybody waiting: the second one ends it at once.
      if (stop.signal.aborted) process.exit(130)
      stop.abort()
    })
  }
}

/** @param {number} milliseconds */
const rest = (milliseconds) => sleep(milliseconds, undefined, { signal: stop.signal }).catch(() => undefined)

/** What a blow did. @param {import("./fleet.mjs").Blow} blow */
const story = ({ times, trees }) => {
  if (trees === 0) return "no tree was at work there"
  const here = `${trees} ${trees === 1 ? "tree" : "trees"} at work`
  return times.length < trees
    ? `${here}, ${times.length} of them continued within ${seconds(patience)}`
    : `${here}, all of them continued: after ${seconds(median(times) ?? 0)} (median), the last after ${
      seconds(Math.max(...times))
    }`
}

/** Kills one server after the other. @param {import("./fleet.mjs").Fleet} fleet @param {{ readonly every: number, readonly most: number }} how */
const strikeInTurn = async (fleet, { every, most }) => {
  for (let kill = 1; !stop.signal.aborted && (most === 0 || kill <= most); kill++) {
    await rest(every)
    // The page stays at the first one: the others go more often.
    const server = fleet.servers[[1, 2, 0][kill % 3] ?? 0]
    if (stop.signal.aborted || server === undefined) return
    const { pid, url } = { pid: server.pid(), url: server.url }
    const blow = await fleet.strike(server, server.kill)
    const until = performance.now() + patience
    await rest(absence)
    if (!stop.signal.aborted) await server.start()
    while (blow.times.length < blow.trees && performance.now() < until && !stop.signal.aborted) await rest(50)
    if (!stop.signal.aborted) say(`kill -9 of server ${server.number} (${url}, process ${pid}): ${story(blow)}`)
  }
}

/** Compares what happened with what was asked for; says whether all is well. @param {import("./fleet.mjs").Fleet} fleet */
const judge = async (fleet) => {
  const { doubled, invalid, lost, rounds, stuck } = await fleet.settle(patience)
  for (const fault of [...lost, ...doubled, ...stuck, ...invalid]) say(`  ${fault}`)
  say(
    `${rounds} prompts answered: ${lost.length} effects lost, ${doubled.length} doubled, ${stuck.length} trees stuck, ${invalid.length} invalid requests`
  )
  return [lost, doubled, stuck, invalid].every(({ length }) => length === 0)
}

/** @param {ReturnType<typeof readFlags>} flags */
const demo = async (flags) => {
  const most = numberOf("kills", flags.kills)
  const every = numberOf("every", flags.every) * 1_000
  const trees = numberOf("trees", flags.trees)
  await catchSignals()
  say("Starting PostgreSQL and three servers …")
  const args = flags.open === true ? ["--open"] : []
  const fleet = await startFleet({ trees, seconds: 1, pace: 150, args, ends: stop.signal })
  try {
    const [first] = fleet.servers
    say(`Open the page, and then Servers: ${first?.page()}`)
    say(`Log files are in ${fleet.base} until this ends. Ctrl+C ends it.`)
    await strikeInTurn(fleet, { every, most })
    return stop.signal.aborted || await judge(fleet)
  } finally {
    await fleet.close()
    say("Ended, and removed all files.")
  }
}

const run = async () => {
  const flags = readFlags()
  if (flags.help === true) say(help)
  else if (!(await demo(flags))) process.exitCode = 1
}

await run().catch((error) => {
  // Ctrl+C ends the servers and PostgreSQL as well, whatever they are asked just then.
  if (stop.signal.aborted) return
  process.stderr.write(`cluster:demo: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
