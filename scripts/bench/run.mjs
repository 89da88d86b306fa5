// @ts-check
// `npm run bench`: runs Skein and what it is compared with side by side, and writes a table and a figure of the ratios.
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { availableParallelism, loadavg, tmpdir, totalmem } from "node:os"
import { join, relative } from "node:path"
import { figure } from "./figure.mjs"
import { measure } from "./measure.mjs"
import { readOptions } from "./options.mjs"
import { knowsMemory } from "./processTree.mjs"
import { summarise } from "./results.mjs"
import { scenario } from "./scenarios.mjs"
import { table } from "./table.mjs"
import { makeWorkspace, restoreHome, writeHome } from "./workspace.mjs"

/**
 * @typedef {import("./peers.mjs").Peer} Peer
 * @typedef {{ readonly name: string, readonly peer: Peer }} System
 */

/** @param {string} line */
const say = (line) => process.stderr.write(`bench: ${line}\n`)

/**
 * @param {string} line
 * @returns {never}
 */
const fail = (line) => {
  say(line)
  process.exit(1)
}

const { out, report, reps, specs, systems, timeout } = readOptions(process.argv.slice(2))
const log = join(out, "runs.jsonl")

const cores = availableParallelism()
const [load = 0] = loadavg()
const isBusy = load > cores / 2

const machine = [
  `${cores} cores${isBusy ? ` that did other work as well (load ${load.toFixed(1)})` : ""}`,
  `${Math.round(totalmem() / 2 ** 30)} GB of memory`,
  `${process.platform} ${process.arch}`,
  `Node ${process.versions.node}`
].join(", ")

/** @param {string} spec */
const known = (spec) => scenario(spec) ?? fail(`there is no scenario ${spec}`)

/** @param {Peer} peer @param {string} spec */
const takesPart = (peer, spec) => {
  const { prompt, resume } = known(spec)
  return prompt === undefined ? peer.version !== undefined : resume === 0 || peer.resumes
}

/**
 * Runs a scenario, or returns the run that should have prepared it and failed.
 * @param {System} system
 * @param {string} spec
 * @param {string} work
 */
const runOnce = async ({ name, peer }, spec, work) => {
  const workspace = makeWorkspace(join(work, name))
  /** @param {string} of */
  const execute = (of) => {
    const wanted = known(of)
    const args = wanted.prompt === undefined ? peer.version : peer.run(wanted.prompt, wanted.resume > 0)
    for (const [path, text] of Object.entries(peer.settings ?? {})) writeHome(workspace, path, text)
    return measure(wanted, args ?? [], workspace, timeout)
  }
  const { resume } = known(spec)
  const failed = await restoreHome(workspace, "warm", undefined, () => execute("S1"))
    ?? (resume > 0
      ? await restoreHome(workspace, `session-${resume}`, "warm", () => execute(`S4:${resume}`))
      : undefined)
  return failed ?? execute(spec)
}

/** @param {import("./measure.mjs").Run} run */
const problem = ({ exitCode, timedOut }) =>
  timedOut
    ? `given up after ${timeout / 1000} s`
    : exitCode === 0
    ? "it did not do what was asked"
    : `exit code ${exitCode}`

const runAll = async () => {
  if (process.platform === "win32") fail("it needs a POSIX shell, which counts what a process and its children use")
  if (!knowsMemory) say("this system has no /proc, so memory is not measured")
  if (isBusy) {
    say(`the machine is busy (load ${load.toFixed(1)} on ${cores} cores): trust the CPU figures, not the times`)
  }
  const work = mkdtempSync(join(tmpdir(), "skein-bench-"))
  process.on("exit", () => rmSync(work, { recursive: true, force: true }))
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(130))

  mkdirSync(out, { recursive: true })
  const date = new Date().toISOString().slice(0, "2000-01-01".length)
  writeFileSync(log, `${JSON.stringify({ date, machine, reps })}\n`)
  for (let rep = 1; rep <= reps; rep++) {
    // Interleaved, so that other load on the machine affects all of them.
    for (const spec of specs) {
      for (const system of systems.filter(({ peer }) => takesPart(peer, spec))) {
        const run = await runOnce(system, spec, work)
        appendFileSync(log, `${JSON.stringify({ spec, peer: system.name, ...run })}\n`)
        const came = run.correct ? `${run.wallMs?.toFixed(0)} ms` : `FAILED: ${problem(run)}\n${run.output}`
        say(`${rep}/${reps} ${spec.padEnd("version".length)} ${system.name.padEnd(5)} ${came}`)
        if (!run.correct) process.exitCode = 1
      }
    }
  }
}

if (!report) await runAll()
if (!existsSync(log)) {
  fail(`${relative(process.cwd(), log)} is not there: no benchmark has been run into that directory`)
}
const [setting, ...results] = readFileSync(log, "utf8").trim().split("\n").map((line) => JSON.parse(line))
const rows = summarise(results)
writeFileSync(join(out, "table.md"), table(rows, setting))
writeFileSync(join(out, "figure.svg"), figure(rows, setting))
process.stdout.write(table(rows, setting))
say(`written to ${relative(process.cwd(), out) || "."}: table.md, figure.svg, runs.jsonl`)
