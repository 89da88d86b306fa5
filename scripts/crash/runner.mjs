// @ts-check
// One of several servers on one PostgreSQL, and what can be done to it.
import { mkdirSync, readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { findServer } from "./server.mjs"
import { startProgram } from "./world.mjs"

/** How often is looked whether something has happened (ms). */
const pace = 20

/** How long a killed runner is away (ms). */
const absence = 5_000

/** How long a runner may take to leave (ms). */
const mostToLeave = 10_000

/** @typedef {{ readonly found: import("./client.mjs").Found, readonly signal: globalThis.AbortSignal }} Up */

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
export const makeRunner = ({ args, data, directory, env, program }) => {
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
    /**
     * Where it is, and the signal that says that it is away; undefined while it is.
     * @returns {Up | undefined}
     */
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

/** @typedef {ReturnType<typeof makeRunner>} Runner */
