// @ts-check
// Several servers on one PostgreSQL, which are killed, frozen and asked to leave while they work on trees together. Clients
// take a tree to the next server whenever theirs is away.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { cutFile, hitBy, strike } from "./blows.mjs"
import { brokenAt, makeClient } from "./client.mjs"
import { startModel } from "./model.mjs"
import { judge } from "./oracle.mjs"
import { lookAround } from "./reader.mjs"
import { notEnded } from "./report.mjs"
import { makeRunner } from "./runner.mjs"
import { startSilence } from "./silence.mjs"
import { builtProgram, effectsIn, fileIn, makeProject, permission } from "./world.mjs"

/** @typedef {import("./drive.mjs").Verdict} Verdict */
/**
 * @typedef {{
 *   readonly label: string,
 *   readonly blows: ReadonlyArray<import("./blows.mjs").Blow>,
 *   readonly trees: number,
 *   readonly frozen: number,
 *   readonly point?: string | undefined,
 *   readonly cluster?: boolean,
 *   readonly fromWork?: boolean,
 *   readonly slots?: number,
 *   readonly restarts?: ReadonlyArray<number>
 * }} RunnersPlan `frozen` is how long a freeze lasts, in milliseconds; the first runner is frozen at `point`; in a cluster,
 *   runners take up trees themselves; with `fromWork`, the times of blows count from when every tree is at work; `restarts`
 *   says when PostgreSQL is restarted; with few `slots` for agents at each runner, models are slow, and trees have to move to
 *   runners that join
 */

/** How often is looked whether something has happened (ms). */
const pace = 20

/** How long a piece of an answer takes (ms): long enough that work is under way when something happens. */
const modelPace = 20

/** The same for trees that are to move: their agents must wait for some seconds. */
const slowPace = 60

/** Longer than a run takes: what has not ended by then hangs (ms). */
const patience = 150_000

/**
 * Has a tree worked on until it is done, by the runners in turn. @param {ReturnType<typeof makeClient>} client @param
 * {ReadonlyArray<import("./runner.mjs").Runner>} runners @param {number} first @param {() => boolean} isLate @param
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
  client.trouble.push(notEnded)
}

/**
 * How long trees were without a runner, and why. @param {import("./postgres.mjs").Postgres} postgres @param {string}
 * database @param {ReadonlyMap<string, string>} blowAt @param {string} left what happened to those that a runner released
 */
const recoveriesIn = async (postgres, database, blowAt, left) =>
  (await postgres.query(database, "SELECT from_url, took, why FROM skein.cluster_takeover")).map((
    { from_url: from, took, why }
  ) => ({
    how: why !== "died" ? left : blowAt.get(from) ?? "none",
    took: /** @type {number} */ (took)
  }))

/**
 * Until so many trees are at work, or it is too late. @param {import("./postgres.mjs").Postgres} postgres @param {string}
 * database @param {number} trees @param {() => boolean} isLate
 */
const untilAtWork = async (postgres, database, trees, isLate) => {
  const held = "SELECT count(*)::integer AS held FROM skein.session WHERE id = root_id AND owner IS NOT NULL"
  while (!isLate() && (await postgres.query(database, held))[0].held < trees) await sleep(pace)
}

let databases = 0

/** Few slots for agents, and many requests. @param {number | undefined} slots */
const limitsOf = (slots) => slots === undefined ? {} : { limits: { process_concurrency: slots, requests: 64 } }

/** Whether a runner is started by a blow. @param {ReadonlyArray<import("./blows.mjs").Blow>} blows @param {number} which */
const joins = (blows, which) => blows.some(({ how, runner }) => how === "join" && runner === which)

/**
 * Carries out a plan.
 * @param {RunnersPlan & { readonly postgres: import("./postgres.mjs").Postgres, readonly program?: string | undefined }} plan
 * @returns {Promise<Verdict>}
 */
export const driveRunners = async (
  {
    blows,
    cluster = false,
    fromWork = false,
    frozen,
    label,
    point,
    postgres,
    program = builtProgram,
    restarts = [],
    slots,
    trees
  }
) => {
  const model = await startModel({ careful: true }, undefined, slots === undefined ? modelPace : slowPace)
  const base = realpathSync(mkdtempSync(join(tmpdir(), "skein-crash-runners-")))
  const database = `crash_${process.pid}_${++databases}`
  await postgres.create(database)
  mkdirSync(join(base, "config", "skein"), { recursive: true })
  writeFileSync(
    join(base, "config", "skein", "skein.json"),
    JSON.stringify({ permission, sandbox: "off", ...limitsOf(slots) })
  )
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: base,
    XDG_CONFIG_HOME: join(base, "config"),
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: "sk-test-0123456789",
    ...(blows.some(({ how }) => how === "cut")
      ? { NODE_OPTIONS: `--import ${import.meta.resolve("./cut.mjs")}`, SKEIN_CRASH_CUT: cutFile(base) }
      : {})
  }
  const args = ["serve", ...(cluster ? ["--cluster"] : [])]
  const count = 3
  const ways = blows.some(({ how }) => how === "silence")
    ? await Promise.all(Array.from({ length: count }, () => startSilence(postgres.port)))
    : []
  const runners = Array.from({ length: count }, (_, at) =>
    makeRunner({
      args,
      program,
      directory: base,
      data: join(base, `data-${at}`),
      env: { ...env, SKEIN_DB: postgres.url(database, ways[at]?.port) }
    }))
  const clients = Array.from({ length: trees }, (_, at) => {
    const directory = join(base, `tree-${at}`)
    makeProject(directory)
    return { client: makeClient({ directory, name: `tree-${at}` }), directory }
  })
  try {
    // The first one creates the tables.
    for (const [at, runner] of runners.entries()) {
      if (!joins(blows, at)) await runner.start(at === 0 ? point : undefined)
    }
    const began = performance.now()
    const isLate = () => performance.now() - began > patience
    const restarted = Promise.all(restarts.map(async (at) => {
      await sleep(at)
      await postgres.restart()
    }))
    /** What happened to the runner that was at an address. @type {Map<string, string>} */
    const blowAt = new Map()
    const recoveredSoFar = () => recoveriesIn(postgres, database, blowAt, slots === undefined ? "leave" : "none")
    const recovered = async (/** @type {string} */ how) => {
      while (!isLate() && !(await recoveredSoFar()).some((each) => each.how === how)) await sleep(pace)
    }
    const atWork = fromWork ? untilAtWork(postgres, database, trees, isLate) : Promise.resolve()
    const struck = Promise.all(blows.map(async (blow) => {
      await atWork
      if (blow.after !== undefined) await recovered(blow.after)
      await sleep(blow.at)
      const runner = await hitBy(blow, { database, postgres, runners })
      const url = runner?.up()?.found.url
      if (url !== undefined) blowAt.set(url, blow.how)
      await strike(blow, { base, database, frozen, postgres, runners, ways }, runner)
    }))
    let isOver = false
    const stopped = point === undefined ? undefined : runners[0]?.frozen(frozen, () => isOver || isLate())
    const looking = clients.map(({ client }) => lookAround(client, runners, () => isOver))
    await Promise.all(clients.map(({ client }, at) => attend(client, runners, at, isLate, cluster)))
    isOver = true
    await Promise.all(looking)
    const milliseconds = performance.now() - began
    // What a frozen one does when it comes back counts as well.
    await restarted
    await struck
    await stopped
    await sleep(1_000)
    for (const runner of runners) await runner.end()
    const recoveries = cluster ? await recoveredSoFar() : []
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
      recoveries,
      unknown: verdicts.reduce((total, { unknown }) => total + unknown, 0),
      lost: verdicts.flatMap(({ lost }) => lost),
      doubled: verdicts.flatMap(({ doubled }) => doubled),
      invalid: [
        ...runners.flatMap(({ trouble }) => trouble),
        ...(slots !== undefined && recoveries.length === 0 ? ["no tree moved"] : []),
        ...verdicts.flatMap(({ invalid }) => invalid)
      ]
    }
  } finally {
    model.close()
    for (const runner of runners) await runner.end()
    for (const way of ways) way.close()
    if (process.env["SKEIN_CRASH_KEEP"] === undefined) {
      await postgres.drop(database)
      rmSync(base, { recursive: true, force: true })
    } else {
      for (const [at, runner] of runners.entries()) writeFileSync(join(base, `runner-${at}.log`), await runner.said())
      process.stderr.write(`crash: ${label}: ${base}, ${postgres.url(database)}\n`)
    }
  }
}
