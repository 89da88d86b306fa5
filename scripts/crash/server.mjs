// @ts-check
// The script through `skein serve`: a client prompts, the server is killed at random and started again, and the client
// resumes after the last event that it got. What the client saw, and its order, is checked against the oracle.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { chance } from "./chance.mjs"
import { brokenAt, makeClient } from "./client.mjs"
import { startModel } from "./model.mjs"
import { judge } from "./oracle.mjs"
import { notEnded } from "./report.mjs"
import { makeWorld } from "./world.mjs"

/** @typedef {import("./drive.mjs").Verdict} Verdict */
/** @typedef {{ readonly label: string, readonly instants: ReadonlyArray<number> }} ServerPlan the time from each start to its kill, in milliseconds */
/** @typedef {import("./client.mjs").Found} Found */

/** How often a client looks whether a server is there (ms). */
const pace = 20

/** Longer than a run takes: who has not answered by then hangs (ms). */
const patience = 90_000

/** The server that the files below a data directory name. @param {string} data @param {string} before @returns {Found | undefined} */
export const findServer = (data, before) => {
  const directory = join(data, "skein", "servers")
  try {
    const file = readdirSync(directory).find((name) => name.endsWith(".json"))
    const found = file === undefined ? undefined : JSON.parse(readFileSync(join(directory, file), "utf8"))
    return found === undefined || found.token === before ? undefined : found
  } catch {
    // It is being written, or not there yet.
    return undefined
  }
}

/**
 * Carries out a plan.
 * @param {ServerPlan & { readonly program?: string | undefined }} plan
 * @returns {Promise<Verdict>}
 */
export const driveServer = async ({ instants, label, program }) => {
  const model = await startModel()
  const world = makeWorld({ url: model.url, program })
  const client = makeClient({ directory: world.project, name: "one" })
  const left = [...instants]
  const began = performance.now()
  let starts = 0
  let kills = 0
  let token = ""
  try {
    while (!client.isIdle() && performance.now() - began < patience) {
      const after = left.shift()
      const { child, ended } = world.start(["serve"], after === undefined ? {} : { after })
      starts++
      let isOver = false
      void ended.then(() => isOver = true)
      /** @type {Found | undefined} */
      let server
      while (!isOver && server === undefined) {
        server = findServer(join(world.base, "data"), token)
        if (server === undefined) await sleep(pace)
      }
      if (server !== undefined) {
        token = server.token
        // A connection that breaks is what this is about.
        await client.begin(server).then(() => client.follow(server)).catch(() => undefined)
      }
      if (client.isIdle()) child.kill("SIGTERM")
      const { hung, signal, stderr } = await ended
      if (signal === "SIGKILL") kills++
      if (hung) client.trouble.push(`the server hung: ${stderr.slice(-300)}`)
    }
    if (!client.isIdle()) client.trouble.push(notEnded)
    const verdict = judge({
      stored: world.look(),
      made: world.effects(),
      journal: client.events,
      ended: client.ended(),
      faults: model.faults,
      isAsked: false
    })
    return {
      label,
      kills,
      starts,
      milliseconds: performance.now() - began,
      ...verdict,
      invalid: [...client.trouble, ...brokenAt(client.order), ...verdict.invalid]
    }
  } finally {
    model.close()
    world.remove()
  }
}

/**
 * Kills servers so many times at random, twice in each run.
 * @param {number} count
 * @param {number} span how long a run takes that nobody kills, in milliseconds
 * @returns {ReadonlyArray<ServerPlan>}
 */
export const serverPlans = (count, span) =>
  Array.from({ length: Math.ceil(count / 2) }, (_, at) => {
    const dice = chance(7_000_001 + at)
    const instants = [dice.next() * span, dice.next() * span * 0.8].map(Math.round)
    return { label: `server killed after ${instants.join(" and ")} ms`, instants }
  })
