// @ts-check
// One run of one system: starts it against its own mock model, times it, and checks its result.
import { spawn } from "node:child_process"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { readTimes, timed, watchMemory } from "./processTree.mjs"

/**
 * @typedef {import("./mockModel.mjs").Entry} Entry
 * @typedef {import("./mockModel.mjs").Log} Log
 * @typedef {import("./scenarios.mjs").Scenario} Scenario
 * @typedef {import("./scenarios.mjs").Figures & {
 *   readonly correct: boolean,
 *   readonly exitCode: number | null,
 *   readonly timedOut: boolean,
 *   readonly requests: number,
 *   readonly output?: string
 * }} Run a run counts only when it is correct; `output` is the end of what an incorrect one printed
 */

const now = () => performance.timeOrigin + performance.now()

/** @param {ReadonlyArray<number>} values */
export const median = (values) => {
  const sorted = values.toSorted((a, b) => a - b)
  const low = sorted[(sorted.length - 1) >> 1]
  const high = sorted[sorted.length >> 1]
  return low === undefined || high === undefined ? undefined : (low + high) / 2
}

/** @param {{ readonly project: string, readonly latency: number }} config */
export const startModel = async (config) => {
  const program = fileURLToPath(new URL("mockModel.mjs", import.meta.url))
  const model = spawn(process.execPath, [program, JSON.stringify(config)], {
    stdio: ["ignore", "pipe", "inherit", "ipc"]
  })
  /** @type {{ readonly port: number }} */
  const { port } = await new Promise((resolve, reject) => {
    model.stdout?.once("data", (line) => resolve(JSON.parse(line)))
    model.once("exit", () => reject(new Error("the mock model ended before it listened")))
  })
  const address = `http://127.0.0.1:${port}`
  return {
    address,
    /** @returns {Promise<Log>} */
    log: async () => /** @type {Log} */ (await (await fetch(`${address}/log`)).json()),
    stop: () => model.kill()
  }
}

/** @param {Scenario} scenario @param {Log} log */
const readLog = (scenario, log) => {
  // Requests for titles are concurrent and optional.
  const entries = log.entries.filter(({ kind }) => kind !== "title" && kind !== "other")
  const done = entries.filter(({ kind }) => kind === "child-done")
  const parent = entries.filter(({ conversation }) => conversation === "parent")
  const first = entries[0]
  const last = parent.findLast(({ kind }) => kind === "parent-done" || kind === "rounds-done" || kind === "ping")
  const finished = (/** @type {Entry} */ entry) => entry.round === scenario.rounds && entry.ok === scenario.rounds
  const correct = last !== undefined
    && new Set(done.map(({ conversation }) => conversation)).size === scenario.children
    && done.every(finished)
    && (scenario.children > 0 ? last.seen === scenario.children : scenario.rounds === 0 || finished(last))
    && (scenario.resume === 0 || last.turns > scenario.resume)
  const turns = parent.slice(1).map((entry, index) => entry.start - (parent[index]?.end ?? 0))
  const early = median(turns.slice(1, 21))
  const late = median(turns.slice(-20))
  return { correct, first, last, turns: turns.length < 40 ? undefined : median(turns), early, late }
}

/**
 * @param {Scenario} scenario
 * @param {ReadonlyArray<string>} args of node
 * @param {import("./workspace.mjs").Workspace} workspace
 * @param {number} timeout in milliseconds
 * @returns {Promise<Run>}
 */
export const measure = async (scenario, args, workspace, timeout) => {
  const { base, home, project } = workspace
  const model = await startModel({ project, latency: scenario.latency })
  const times = join(base, "times.txt")
  rmSync(times, { force: true })
  const [shell, shellArgs] = timed(times, [process.execPath, ...args])
  const start = now()
  const child = spawn(shell, shellArgs, {
    cwd: project,
    // The user's own configuration must not be read or written.
    env: {
      PATH: process.env["PATH"],
      LANG: "C",
      TERM: "dumb",
      NO_COLOR: "1",
      HOME: home,
      XDG_CONFIG_HOME: join(home, ".config"),
      XDG_DATA_HOME: join(home, ".local", "share"),
      XDG_CACHE_HOME: join(home, ".cache"),
      XDG_STATE_HOME: join(home, ".local", "state"),
      OPENAI_BASE_URL: `${model.address}/v1`,
      OPENAI_API_KEY: "x"
    },
    // A separate process group, so that all of it can be stopped at once.
    detached: true,
    stdio: ["ignore", "pipe", "pipe"]
  })
  const pid = child.pid
  if (pid === undefined) throw new Error(`${shell} could not be started`)
  const memory = watchMemory(pid)
  const stop = () => {
    try {
      process.kill(-pid, "SIGKILL")
    } catch {
      // It has ended.
    }
  }
  process.once("exit", stop)
  let output = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => output = (output + text).slice(-4000))
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    stop()
  }, timeout)
  /** @type {number | null} */
  const exitCode = await new Promise((resolve) => child.on("close", resolve))
  const end = now()
  clearTimeout(timer)
  process.off("exit", stop)
  const memoryMb = memory.stop()
  const log = await model.log()
  model.stop()

  const { early, first, last, late, turns, ...said } = readLog(scenario, log)
  const correct = exitCode === 0 && (scenario.prompt === undefined || said.correct)
  const cpuS = readTimes(times)
  return {
    correct,
    exitCode,
    timedOut,
    requests: log.entries.length,
    wallMs: end - start,
    ...(cpuS === undefined ? {} : { cpuS }),
    ...(memoryMb === undefined ? {} : { memoryMb }),
    ...(first === undefined ? {} : { firstMs: first.start - start, mostOpen: log.mostOpen }),
    ...(first === undefined || last === undefined ? {} : { overIdealMs: last.end - first.start - scenario.ideal }),
    ...(turns === undefined || early === undefined || late === undefined
      ? {}
      : { turnMs: turns, turnGrowth: late / early }),
    ...(correct ? {} : { output })
  }
}
