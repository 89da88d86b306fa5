// @ts-check
// One of the servers of a fleet: started at the same port again and again.
import { spawn } from "node:child_process"
import { createWriteStream, mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { freePort } from "../crash/postgres.mjs"
import { findServer } from "../crash/server.mjs"

/** How often is looked whether a server is there (ms). */
const pace = 20

/** How long a server may take to leave (ms). */
const mostToLeave = 15_000

/** How many lines of the log say why a server did not start. */
const told = 5

/**
 * Makes one; `start` starts it.
 * @param {{ readonly base: string, readonly number: number, readonly program: string, readonly env: Readonly<Record<string, string>>, readonly args?: ReadonlyArray<string>, readonly node?: ReadonlyArray<string>, readonly isAlone?: boolean, readonly ends?: AbortSignal | undefined }} options
 *   `node`: options of Node; `isAlone`: it is in no cluster; `ends` ends a start
 */
export const makeServer = async ({ args = [], base, ends, env, isAlone = false, node = [], number, program }) => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const data = join(base, `data-${number}`)
  mkdirSync(data)
  const logFile = join(base, `server-${number}.log`)
  const log = createWriteStream(logFile)
  /** @type {import("node:child_process").ChildProcess | undefined} */
  let child
  /** @type {Promise<number | string | null>} */
  let ended = Promise.resolve(null)
  let line = ""
  let token = ""
  let isUp = false

  const start = async () => {
    line = ""
    const mode = isAlone ? [] : ["--cluster"]
    const started = spawn(process.execPath, [...node, program, "serve", ...mode, "--port", String(port), ...args], {
      cwd: base,
      env: { ...env, XDG_DATA_HOME: data },
      stdio: ["ignore", "pipe", "pipe"]
    })
    child = started
    let isOver = false
    ended = new Promise((resolve) =>
      started.once("exit", (code, signal) => {
        isOver = true
        isUp = false
        resolve(signal ?? code)
      })
    )
    started.stdout.setEncoding("utf8").on("data", (text) => line += text)
    started.stderr.pipe(log, { end: false })
    while (!isOver && !line.includes("\n") && ends?.aborted !== true) await sleep(pace)
    ends?.throwIfAborted()
    if (isOver) {
      const said = readFileSync(logFile, "utf8").trim().split("\n").slice(-told).join("\n")
      throw new Error(`Server ${number} did not start. It said:\n${said}`)
    }
    token = findServer(data, "")?.token ?? ""
    isUp = true
  }

  return {
    number,
    url,
    /** Where it keeps its files. */
    data,
    start,
    isUp: () => isUp,
    token: () => token,
    pid: () => child?.pid ?? 0,
    /** The address of the page, with a code that works once. */
    page: () => line.trim(),
    /** @param {NodeJS.Signals} signal */
    signal: (signal) => child?.kill(signal),
    kill: async () => {
      isUp = false
      child?.kill("SIGKILL")
      await ended
    },
    /** Ends it as a service manager does. Returns its exit code, or the signal that ended it. */
    leave: async () => {
      isUp = false
      child?.kill("SIGTERM")
      const late = setTimeout(() => child?.kill("SIGKILL"), mostToLeave)
      const how = await ended
      clearTimeout(late)
      return how
    }
  }
}

/** @typedef {Awaited<ReturnType<typeof makeServer>>} Server */
