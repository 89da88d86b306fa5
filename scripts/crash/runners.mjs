// @ts-check
// Several servers on one PostgreSQL, which are killed, frozen and asked to leave while they work on trees together. Clients
// take a tree to the next server whenever theirs is away.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { chance } from "./chance.mjs"
import { brokenAt, makeClient } from "./client.mjs"
import { startModel } from "./model.mjs"
import { judge } from "./oracle.mjs"
import { findServer } from "./server.mjs"
import { builtProgram, effectsIn, fileIn, makeProject, permission, startProgram } from "./world.mjs"

/** @typedef {import("./drive.mjs").Verdict} Verdict */
/** @typedef {{ readonly at: number, readonly runner: number, readonly how: "kill" | "freeze" | "leave" }} Blow what happens to a runner, so many milliseconds after the start */
/**
 * @typedef {{
 *   readonly label: string,
 *   readonly blows: ReadonlyArray<Blow>,
 *   readonly trees: number,
 *   readonly frozen: number,
 *   readonly point?: string | undefined,
 *   readonly cluster?: boolean,
 *   readonly restarts?: ReadonlyArray<number>
 * }} RunnersPlan `frozen` is how long a freeze lasts, in milliseconds; the first runner is frozen at `point`; in a cluster, runners take up trees themselves, and
 *   `restarts` says when PostgreSQL is restarted
 */

/** How often is looked whether something has happened (ms). */
const pace = 20

/** How long a piece of an answer takes (ms): long enough that work is under way when something happens. */
const modelPace = 20

/** Longer than a run takes: what has not ended by then hangs (ms). */
const patience = 150_000

/** How long a killed runner is away (ms). */
const absence = 5_000

/** How long a runner may take to leave (ms). */
const mostToLeave = 10_000

/** @param {number} pid */
const isStopped = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.startsWith("T") === true
  } catch {
    // It has ended.
    return false
  }
}

/**
 * One of the servers.
 * @param {{ readonly args: ReadonlyArray<string>, readonly program: string, readonly directory: string, readonly data: string, readonly env: Readonly<Record<string, string>> }} options
 */
const makeRunner = ({ args, data, directory, env, program }) => {
  /** @type {Array<string>} */
  const trouble = []
  /** @type {ReturnType<typeof startProgram> | undefined} */
  let running
  /** @type {import("./client.mjs").Found | undefined} */
  let found
  let away = new AbortController()
  mkdirSync(data)

  /** @param {string} [point] */
  const start = async (point) => {
    const before = found?.token ?? ""
    const armed = point === undefined ? {} : { SKEIN_FAILPOINT: point }
    const started = startProgram(args, { program, directory, env: { ...env, ...armed, XDG_DATA_HOME: data } })
    running = started
    let isOver = false
    started.child.once("close", () => isOver = true)
    found = undefined
    while (found === undefined && !isOver) {
      found = findServer(data, before)
      if (found === undefined) await sleep(pace)
    }
    if (isOver) trouble.push(`a runner ended while it started: ${(await started.ended).stderr.slice(-300)}`)
    away = new AbortController()
  }

  return {
    trouble,
    start,
    /** Where it is, and the signal that says that it is away; undefined while it is. */
    up: () => found === undefined || away.signal.aborted ? undefined : { found, signal: away.signal },
    /** What it said since it was started. */
    said: async () => (await running?.ended)?.stderr ?? "",
    kill: async () => {
      away.abort()
      running?.child.kill("SIGKILL")
      await running?.ended
      // Its next start must not be what ends the commands that it left.
      await sleep(absence)
      await start()
    },
    /** @param {number} milliseconds */
    freeze: async (milliseconds) => {
      away.abort()
      running?.child.kill("SIGSTOP")
      await sleep(milliseconds)
      running?.child.kill("SIGCONT")
      away = new AbortController()
    },
    /** Waits until it has frozen itself, unless it ends before. @param {number} milliseconds @param {() => boolean} isLate */
    frozen: async (milliseconds, isLate) => {
      while (!isLate() && !isStopped(running?.child.pid ?? 0)) await sleep(pace)
      if (isLate()) return
      away.abort()
      await sleep(milliseconds)
      running?.child.kill("SIGCONT")
      away = new AbortController()
    },
    leave: async () => {
      away.abort()
      const asked = performance.now()
      running?.child.kill("SIGTERM")
      const ended = await running?.ended
      const took = performance.now() - asked
      if (took > mostToLeave) trouble.push(`a runner took ${Math.round(took)} ms to leave`)
      if (ended?.code !== 0 && ended?.code !== 143) trouble.push(`a runner left with ${ended?.code ?? ended?.signal}`)
      await start()
    },
    end: async () => {
      away.abort()
      running?.child.kill("SIGCONT")
      running?.child.kill("SIGTERM")
      const late = setTimeout(() => running?.child.kill("SIGKILL"), mostToLeave)
      await running?.ended
      clearTimeout(late)
    }
  }
}

/**
 * Has a tree worked on until it is done, by the runners in turn. @param {ReturnType<typeof makeClient>} client @param
 * {ReadonlyArray<ReturnType<typeof makeRunner>>} runners @param {number} first @param {() => boolean} isLate @param
 * {boolean} isCluster
 */
const attend = async (client, runners, first, isLate, isCluster) => {
  for (let at = first; !isLate(); at++) {
    const runner = runners[at % runners.length]?.up()
    // A connection that breaks is what this is about.
    const isDone = runner !== undefined && await (async () => {
      await client.begin(runner.found, runner.signal)
      if (!isCluster) await client.resume(runner.found, runner.signal)
      await client.follow(runner.found, runner.signal)
      await client.settle(runner.found, runner.signal)
      return true
    })().catch(() => false)
    if (isDone) return
    await sleep(pace)
  }
  client.trouble.push("the turn did not end")
}

let databases = 0

/**
 * Carries out a plan.
 * @param {RunnersPlan & { readonly postgres: import("./postgres.mjs").Postgres, readonly program?: string | undefined }} plan
 * @returns {Promise<Verdict>}
 */
export const driveRunners = async (
  { blows, cluster = false, frozen, label, point, postgres, program = builtProgram, restarts = [], trees }
) => {
  const model = await startModel({ careful: true }, undefined, modelPace)
  const base = realpathSync(mkdtempSync(join(tmpdir(), "skein-crash-runners-")))
  const database = `crash_${process.pid}_${++databases}`
  await postgres.create(database)
  mkdirSync(join(base, "config", "skein"), { recursive: true })
  writeFileSync(join(base, "config", "skein", "skein.json"), JSON.stringify({ permission, sandbox: "off" }))
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: base,
    XDG_CONFIG_HOME: join(base, "config"),
    SKEIN_DB: postgres.url(database),
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: "sk-test-0123456789"
  }
  const args = ["serve", ...(cluster ? ["--cluster"] : [])]
  const runners = [0, 1, 2].map((at) =>
    makeRunner({ args, program, directory: base, data: join(base, `data-${at}`), env })
  )
  const clients = Array.from({ length: trees }, (_, at) => {
    const directory = join(base, `tree-${at}`)
    makeProject(directory)
    return { client: makeClient({ directory, name: `tree-${at}` }), directory }
  })
  try {
    // The first one creates the tables.
    for (const [at, runner] of runners.entries()) await runner.start(at === 0 ? point : undefined)
    const began = performance.now()
    const isLate = () => performance.now() - began > patience
    const restarted = Promise.all(restarts.map(async (at) => {
      await sleep(at)
      await postgres.restart()
    }))
    const struck = Promise.all(blows.map(async ({ at, how, runner: which }) => {
      const runner = runners[which]
      await sleep(at)
      await (how === "kill" ? runner?.kill() : how === "leave" ? runner?.leave() : runner?.freeze(frozen))
    }))
    let isOver = false
    const stopped = point === undefined ? undefined : runners[0]?.frozen(frozen, () => isOver || isLate())
    await Promise.all(clients.map(({ client }, at) => attend(client, runners, at, isLate, cluster)))
    isOver = true
    const milliseconds = performance.now() - began
    // What a frozen one does when it comes back counts as well.
    await restarted
    await struck
    await stopped
    await sleep(1_000)
    for (const runner of runners) await runner.end()
    const verdicts = await Promise.all(clients.map(async ({ client, directory }, at) => {
      const verdict = judge({
        stored: client.session() === "" ? undefined : await postgres.look(database, client.session()),
        made: effectsIn(directory),
        journal: client.events,
        ended: client.ended(),
        faults: at === 0 ? model.faults : [],
        isAsked: false,
        written: fileIn(directory, "step-5.txt")
      })
      const named = (/** @type {ReadonlyArray<string>} */ lines) => lines.map((line) => `tree ${at}: ${line}`)
      return {
        unknown: verdict.unknown,
        lost: named(verdict.lost),
        doubled: named(verdict.doubled),
        invalid: named([...client.trouble, ...brokenAt(client.order), ...verdict.invalid])
      }
    }))
    return {
      label,
      kills: blows.length + restarts.length + (point === undefined ? 0 : 1),
      starts: runners.length + blows.length,
      milliseconds,
      unknown: verdicts.reduce((total, { unknown }) => total + unknown, 0),
      lost: verdicts.flatMap(({ lost }) => lost),
      doubled: verdicts.flatMap(({ doubled }) => doubled),
      invalid: [...runners.flatMap(({ trouble }) => trouble), ...verdicts.flatMap(({ invalid }) => invalid)]
    }
  } finally {
    model.close()
    for (const runner of runners) await runner.end()
    if (process.env["SKEIN_CRASH_KEEP"] === undefined) {
      await postgres.drop(database)
      rmSync(base, { recursive: true, force: true })
    } else {
      for (const [at, runner] of runners.entries()) writeFileSync(join(base, `runner-${at}.log`), await runner.said())
      process.stderr.write(`crash: ${label}: ${base}, ${postgres.url(database)}\n`)
    }
  }
}

/**
 * In each run one runner is killed, one is frozen and one leaves, at random instants. @param {number} count @param
 * {number} span how long a run takes that nobody disturbs, in milliseconds @param {number} frozen @param {number} trees
 * @returns {ReadonlyArray<RunnersPlan>}
 */
export const runnersPlans = (count, span, frozen, trees) =>
  Array.from({ length: count }, (_, at) => {
    const dice = chance(9_000_001 + at)
    const which = /** @type {const} */ ([0, 1, 2]).toSorted(() => dice.next() - 0.5)
    const blows = /** @type {const} */ (["kill", "freeze", "leave"]).map((how, nth) => ({
      how,
      runner: which[nth] ?? nth,
      at: Math.round(dice.next() * span)
    }))
    const label = blows.map(({ at: when, how, runner }) => `${how} ${runner} after ${when} ms`).join(", ")
    return { label, blows, frozen, trees }
  })

/** Freezes the first of three runners at each of these points, until long after another one has its tree. @param {ReadonlyArray<string>} points @returns {ReadonlyArray<RunnersPlan>} */
export const pointPlans = (points) =>
  points.map((point) => ({
    label: `frozen at ${point}`,
    blows: [],
    frozen: 24_000,
    trees: 1,
    point: `${point}:freeze`
  }))

/** Restarts PostgreSQL twice in each run. @param {number} count @param {number} trees @returns {ReadonlyArray<RunnersPlan>} */
export const restartPlans = (count, trees) =>
  Array.from({ length: count }, (_, at) => {
    const dice = chance(11_000_001 + at)
    const restarts = [dice.next() * 5_000, 6_000 + dice.next() * 5_000].map(Math.round)
    return { label: `PostgreSQL restarted after ${restarts.join(" and ")} ms`, blows: [], frozen: 0, trees, restarts }
  })
