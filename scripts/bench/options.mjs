// @ts-check
// The options of the benchmark, validated before anything runs.
import { join, relative, resolve } from "node:path"
import { parseArgs } from "node:util"
import { root } from "../layout.mjs"
import { peers } from "./peers.mjs"
import { complete, scenario } from "./scenarios.mjs"

const results = join(root, "scripts", "bench", "results")
const partial = join(results, "partial")

const help = `npm run bench -- [options]

  --scenarios LIST  ${complete.join(",")}
                    (S2, S3, S6: how many subagents; S4, S5: how many turns)
  --peers LIST      ${Object.keys(peers).join(",")}
  --reps N          how often each is run; medians are reported (5)
  --timeout N       seconds after which a run is given up (300)
  --out DIRECTORY   where table.md, figure.svg and runs.jsonl go; without it a complete benchmark goes to
                    ${relative(root, results)}, and any other to ${relative(root, partial)}
  --report          measures nothing: writes the table and the figure again, from runs.jsonl
`

/**
 * @param {string} line
 * @returns {never}
 */
const refuse = (line) => {
  process.stderr.write(`bench: ${line}\nRun "npm run bench -- --help" for the options.\n`)
  process.exit(2)
}

/** @param {ReadonlyArray<string>} args */
const parse = (args) => {
  try {
    return parseArgs({
      args: [...args],
      options: {
        scenarios: { type: "string", default: complete.join(",") },
        peers: { type: "string", default: Object.keys(peers).join(",") },
        reps: { type: "string", default: "5" },
        timeout: { type: "string", default: "300" },
        out: { type: "string" },
        report: { type: "boolean", default: false },
        help: { type: "boolean", default: false }
      }
    }).values
  } catch (cause) {
    return refuse(cause instanceof Error ? cause.message : String(cause))
  }
}

/** @param {string} name @param {string} given */
const positive = (name, given) =>
  /^[1-9]\d*$/.test(given) ? Number(given) : refuse(`--${name} ${given} is not a whole number above 0.`)

/**
 * Ends the process with a line that says what is wrong when an option makes no sense.
 * @param {ReadonlyArray<string>} args
 */
export const readOptions = (args) => {
  const given = parse(args)
  if (given.help) {
    process.stdout.write(help)
    process.exit()
  }
  const specs = given.scenarios.split(",")
  const unknown = specs.find((spec) => scenario(spec) === undefined)
  if (unknown !== undefined) refuse(`--scenarios: there is no "${unknown}". A complete list is ${complete.join(",")}.`)
  const systems = given.peers.split(",").map((name) => {
    const peer = peers[name] ?? refuse(`--peers: there is no "${name}". A complete list is ${Object.keys(peers)}.`)
    const missing = given.report ? undefined : peer.missing?.()
    if (missing !== undefined) refuse(`${name} cannot be run: ${missing}.`)
    return { name, peer }
  })
  const isComplete = complete.every((spec) => specs.includes(spec))
    && Object.keys(peers).every((name) => systems.some((system) => system.name === name))
  return {
    specs,
    systems,
    reps: positive("reps", given.reps),
    timeout: positive("timeout", given.timeout) * 1000,
    out: given.out === undefined ? isComplete ? results : partial : resolve(given.out),
    report: given.report
  }
}
