// @ts-check
// `npm run crash`: kills the program at every point and at random instants, continues it, and reports what was lost or
// repeated.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { root } from "../layout.mjs"
import { buildCopy } from "./copy.mjs"
import { drive } from "./drive.mjs"
import { atPoints, atRandom, carryOut, isBad } from "./jobs.mjs"
import { mutants } from "./mutants.mjs"
import { startPostgres } from "./postgres.mjs"
import { recovery } from "./recovery.mjs"
import { recoveryFigure } from "./recoveryFigure.mjs"
import { faultsOf, recoveryTable, rowOf, table } from "./report.mjs"
import { joinPlans, pointPlans, restartPlans, runnersPlans, samePlans, silencePlans } from "./runnerPlans.mjs"
import { driveRunners } from "./runners.mjs"
import { driveServer, serverPlans } from "./server.mjs"

const help =
  `Usage: npm run crash -- [--quick | --mutants | --recovery | --server | --runners | --cluster] [--out DIRECTORY]

Without a flag: each point with 12 seeds, and 1,000 random instants.
  --quick      each point once, and 40 instants
  --mutants    checks that mistakes put in on purpose are noticed within 50 runs
  --server     kills \`skein serve\` 200 times at random, while a client follows; --kills N for another number
  --runners    three servers on one PostgreSQL, of which one is killed, one frozen for 30 s and one asked to leave in each
               of 12 runs; --runs N for another number. Then one is frozen at each point that commands and files pass
  --cluster    the same with servers of a cluster, which take up trees themselves. Then PostgreSQL is restarted every 5 to
               20 s, two servers are cut off from each other, the locks of the engine are taken away, and all servers are
               restarted in turn, and servers join one whose agents wait. Packets between a server and PostgreSQL vanish for
               4 to 60 s. --freeze N freezes for N seconds instead of 60; --only NAMES brings about some kinds, N runs of each:
               mixed, points, restarts, silence, cut, locks, roll or join
  --recovery   how long it takes until a tree of 100 children is at work again
  --out DIR    where results.json and table.md go; scripts/crash/results otherwise
With SKEIN_CRASH_KEEP=1 in the environment, the place of each run is kept, and named.`

/** @param {string} line */
const say = (line) => process.stderr.write(`crash: ${line}\n`)

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean" },
    mutants: { type: "boolean" },
    recovery: { type: "boolean" },
    server: { type: "boolean" },
    runners: { type: "boolean" },
    cluster: { type: "boolean" },
    kills: { type: "string", default: "200" },
    runs: { type: "string", default: "12" },
    freeze: { type: "string", default: "60" },
    only: { type: "string" },
    out: { type: "string", default: join(root, "scripts", "crash", "results") },
    help: { type: "boolean" }
  }
})

const jobs = Math.max(2, availableParallelism())

/** How many trees three runners work on together. */
const treesOfRunners = 4

/** How many runs each of the other blows gets, of those of a kill, a freeze and a leave. */
const shareOfOthers = 1 / 3

/** Where a runner is frozen: around what cannot be undone. */
const pointsOfRunners = [
  "intent_after_commit:1",
  "before_spawn:1",
  "before_spawn:4",
  "after_spawn:1",
  "after_spawn:5",
  "effect_done_before_exit:2",
  "exit_before_result_commit:3",
  "write_tmp_before_rename:1",
  "bg_done_committed:1"
]
const base = mkdtempSync(join(tmpdir(), "skein-crash-build-"))
process.on("exit", () => rmSync(base, { recursive: true, force: true }))

/**
 * @template {{ readonly label: string }} P
 * @param {ReadonlyArray<P>} plans
 * @param {(plan: P & { readonly program?: string | undefined }) => Promise<import("./drive.mjs").Verdict>} by
 * @param {string} program
 * @param {string} kind
 * @param {number} [atOnce]
 */
const all = async (plans, by, program, kind, atOnce = jobs) => {
  const began = Date.now()
  let done = 0
  const verdicts = await carryOut(plans, {
    by,
    program,
    jobs: atOnce,
    seen: (verdict) => {
      done++
      if (isBad(verdict)) {
        say(`${verdict.label}:`)
        for (const fault of faultsOf(verdict)) say(`  ${fault}`)
      }
      if (done % 50 > 0 && done < plans.length) return
      const left = ((Date.now() - began) / done) * (plans.length - done) / 60_000
      say(`${kind}: ${done} of ${plans.length} runs, about ${left.toFixed(1)} minutes left`)
    }
  })
  return { kind, verdicts, row: rowOf(kind, verdicts) }
}

/** Uses a PostgreSQL server. @template A @param {(postgres: import("./postgres.mjs").Postgres) => Promise<A>} use */
const withPostgres = async (use) => {
  const postgres = await startPostgres()
  try {
    return await use(postgres)
  } finally {
    await postgres.stop()
  }
}

const nightly = async () => {
  const program = buildCopy(join(base, "program"))
  const plain = []
  for (let count = 0; count < 3; count++) plain.push(await drive({ label: "nobody", deaths: [], auto: true, program }))
  const span = plain.map(({ milliseconds }) => milliseconds).toSorted((a, b) => a - b)[1] ?? 0
  const [seeds, instants] = flags.quick === true ? [1, 40] : [12, 1000]
  const plans = [atPoints(seeds), atRandom(instants, span)]
  const minutes = plans.flat().reduce((total, { deaths }) => total + 1 + deaths.length / 2, 0) * span / jobs / 60_000
  say(`a run without a kill takes ${Math.round(span)} ms; all of them about ${Math.ceil(minutes)} minutes`)
  const kinds = ["at a point", "at a random instant"]
  const found = [{ kind: "not at all", verdicts: plain, row: rowOf("not at all", plain) }]
  for (const [at, each] of plans.entries()) found.push(await all(each, drive, program, kinds[at] ?? ""))
  const rows = found.map(({ row }) => row)
  const bad = found.flatMap(({ verdicts }) => verdicts.filter(isBad))
  mkdirSync(flags.out, { recursive: true })
  const words = `${table(rows)}\n`
  writeFileSync(join(flags.out, "table.md"), words)
  writeFileSync(join(flags.out, "results.json"), `${JSON.stringify({ rows, bad }, undefined, 2)}\n`)
  process.stdout.write(words)
  return bad.length === 0
}

const mutated = async () => {
  let isCaught = true
  for (const [name, { patches, point, says }] of Object.entries(mutants)) {
    const program = buildCopy(join(base, name), patches)
    let runs = 0
    let caught = false
    const seen = (/** @type {import("./drive.mjs").Verdict} */ verdict) => {
      if (!caught) runs++
      caught ||= isBad(verdict)
      return !caught
    }
    await (point === undefined
      ? carryOut(atPoints(2).slice(0, 50), { by: drive, program, jobs, seen })
      : withPostgres((postgres) =>
        carryOut(pointPlans([point, point, point]), {
          by: (plan) => driveRunners({ ...plan, postgres }),
          program,
          jobs: 1,
          seen
        })
      ))
    isCaught &&= caught
    process.stdout.write(`${name} (${says}): ${caught ? `noticed after ${runs} runs` : "NOT noticed in 50 runs"}\n`)
  }
  return isCaught
}

const served = async () => {
  const program = buildCopy(join(base, "program"))
  const plain = await driveServer({ label: "nobody", instants: [], program })
  say(`a run that nobody kills takes ${Math.round(plain.milliseconds)} ms`)
  const plans = serverPlans(Number(flags.kills), plain.milliseconds)
  const { row, verdicts } = await all(plans, driveServer, program, "server, at random")
  process.stdout.write(`${table([rowOf("not at all", [plain]), row])}\n`)
  return ![plain, ...verdicts].some(isBad)
}

/** What happened to a server, by the name of the blow. */
const causes = /** @type {const} */ ([["kill", "kill -9"], ["freeze", "SIGSTOP"], ["leave", "SIGTERM"]])

/** Writes how long trees were without a server, as a table and as a drawing. @param {ReadonlyArray<import("./drive.mjs").Verdict>} verdicts @param {string} words */
const writeRecoveries = (verdicts, words) => {
  const seen = verdicts.flatMap(({ recoveries = [] }) => recoveries)
  const times = new Map(causes.flatMap(([how, name]) => {
    const found = seen.filter((each) => each.how === how).map(({ took }) => took)
    return found.length === 0 ? [] : [[name, found]]
  }))
  const recoveries = recoveryTable(times)
  mkdirSync(flags.out, { recursive: true })
  writeFileSync(join(flags.out, "cluster.md"), `${words}\n\n${recoveries}\n`)
  const runs = `${verdicts.length} runs with ${treesOfRunners} trees each`
  writeFileSync(
    join(flags.out, "recovery.svg"),
    recoveryFigure(times, `${runs}, from the last sign of life of the server.`)
  )
  process.stdout.write(`\n${recoveries}\n`)
}

/** @param {boolean} cluster */
const byRunners = (cluster) =>
  withPostgres(async (postgres) => {
    const program = buildCopy(join(base, "program"))
    const by = (/** @type {import("./runners.mjs").RunnersPlan} */ plan) =>
      driveRunners({ ...plan, cluster, postgres, program })
    const plain = await by({ label: "nobody", blows: [], frozen: 0, trees: treesOfRunners })
    say(`a run that nobody disturbs takes ${Math.round(plain.milliseconds)} ms`)
    const freeze = cluster ? Number(flags.freeze) * 1_000 : 30_000
    const runs = Number(flags.runs)
    const span = plain.milliseconds
    const trees = treesOfRunners
    const only = flags.only?.split(",")
    const few = only === undefined ? Math.ceil(runs * shareOfOthers) : runs
    /** @type {Readonly<Record<string, readonly [kind: string, plans: () => ReadonlyArray<import("./runners.mjs").RunnersPlan>]>>} */
    const wanted = {
      mixed: ["a kill, a freeze, a leave", () => runnersPlans(runs, span, freeze, trees)],
      points: ["frozen at a point", () => pointPlans(pointsOfRunners.slice(0, runs))],
      ...(cluster
        ? {
          restarts: ["PostgreSQL restarted", () => restartPlans(few, trees)],
          silence: ["PostgreSQL silent for a server", () => silencePlans(few, span, trees)],
          cut: ["two servers cut off from each other", () => samePlans("cut", few, span, trees)],
          locks: ["locks of the engine taken away", () => samePlans("locks", few, span, trees)],
          roll: ["all restarted in turn", () => samePlans("roll", few, span, trees)],
          join: ["servers join one whose agents wait", () => joinPlans(few, 2 * trees)]
        }
        : {})
    }
    const kinds = []
    for (const [name, [kind, plans]] of Object.entries(wanted)) {
      if (only === undefined || only.includes(name)) kinds.push(await all(plans(), by, program, kind, 1))
    }
    const words = table([rowOf("not at all", [plain]), ...kinds.map(({ row }) => row)])
    process.stdout.write(`${words}\n`)
    if (cluster) writeRecoveries(kinds.flatMap(({ verdicts }) => verdicts), words)
    return ![plain, ...kinds.flatMap(({ verdicts }) => verdicts)].some(isBad)
  })

const recovered = async () => {
  const program = buildCopy(join(base, "program"))
  const times = []
  for (let count = 0; count < 3; count++) times.push(await recovery(100, program))
  for (const { children, code, completed, recovering, starting } of times) {
    process.stdout.write(
      `${children} children at work after ${Math.round(starting)} ms, and again ${
        Math.round(recovering)
      } ms after the process that resumed them was started; ${completed} of them completed, exit code ${code}\n`
    )
  }
  return times.every(({ children, code, completed, runs }) => code === 0 && completed === children && runs === children)
}

if (flags.help === true) process.stdout.write(`${help}\n`)
else {
  const work = flags.mutants === true
    ? mutated
    : flags.recovery === true
    ? recovered
    : flags.server === true
    ? served
    : flags.runners === true || flags.cluster === true
    ? () => byRunners(flags.cluster === true)
    : nightly
  if (!(await work())) process.exitCode = 1
}
