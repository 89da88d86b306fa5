// @ts-check
// A server of the built program, in a home of its own.
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { Agent, request } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { root } from "../../layout.mjs"

const ticksPerSecond = 100

/** CPU seconds of a process until now. @param {number} pid */
export const cpuOf = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ")
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/** Resident memory of a process, in MB. @param {number} pid */
export const memoryOf = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024

/** A home with a project, and the environment of a program in it. @param {{ readonly model?: string }} [options] */
export const makeHome = ({ model } = {}) => {
  const home = mkdtempSync(join(tmpdir(), "skein-bench-server-"))
  const project = join(home, "project")
  mkdirSync(project)
  mkdirSync(join(home, ".config", "skein"), { recursive: true })
  // The ceilings that a large fan-out would reach are raised.
  const limits = { concurrency: 1_000, process_concurrency: 1_000, max_tasks: 10_000, answer: { calls: 10_000 } }
  writeFileSync(join(home, ".config", "skein", "skein.json"), JSON.stringify({ limits }))
  const env = {
    PATH: process.env["PATH"],
    HOME: home,
    XDG_DATA_HOME: join(home, "data"),
    ...(model === undefined ? {} : { OPENAI_BASE_URL: model, OPENAI_API_KEY: "sk-bench" })
  }
  return { home, project, env }
}

/** The program as the system starts it. */
export const program = ["--max-semi-space-size=8", join(root, "packages/cli/bin/skein.js")]

/** Starts a server; `close` ends it and removes its home. @param {ReturnType<typeof makeHome>} [at] */
export const serve = async (at = makeHome()) => {
  const { env, home, project } = at
  const child = spawn(process.execPath, [...program, "serve"], {
    cwd: project,
    env,
    stdio: ["ignore", "pipe", "inherit"]
  })
  await new Promise((resolve) => child.stdout.once("data", resolve))
  const servers = join(home, "data", "skein", "servers")
  const file = readdirSync(servers).find((name) => name.endsWith(".json")) ?? ""
  /** @type {{ url: string, token: string, pid: number }} */
  const { pid, token, url } = JSON.parse(readFileSync(join(servers, file), "utf8"))
  const port = Number(new URL(url).port)
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })

  /** @param {string} method @param {string} path @param {unknown} [body] @returns {Promise<any>} */
  const send = (method, path, body) =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? undefined : JSON.stringify(body)
      const sent = request({
        host: "127.0.0.1",
        port,
        agent,
        method,
        path,
        headers: {
          authorization: `Bearer ${token}`,
          ...(text === undefined
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(text) })
        }
      }, (response) => {
        /** @type {Array<Buffer>} */
        const pieces = []
        response.on("data", (piece) => pieces.push(piece))
        response.on("end", () => resolve(JSON.parse(Buffer.concat(pieces).toString() || "null")))
      })
      sent.on("error", reject).end(text)
    })

  /** Opens a stream of events; `onData` gets what comes. @param {string} path @param {(piece: Buffer) => void} onData */
  const stream = (path, onData) =>
    new Promise((resolve, reject) => {
      const socket = connect(port, "127.0.0.1", () => {
        socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`)
      })
      socket.once("error", reject)
      socket.once("data", () => resolve(socket))
      socket.on("data", onData)
    })

  return {
    pid,
    url,
    port,
    token,
    project,
    send,
    stream,
    close: async () => {
      child.kill("SIGKILL")
      await new Promise((resolve) => child.once("close", resolve))
      rmSync(home, { recursive: true, force: true })
    }
  }
}
