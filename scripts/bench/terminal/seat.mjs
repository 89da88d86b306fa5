// @ts-check
// A terminal with the built program on it: what it prints and when, what is typed, and what its process costs. Needs python3.
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

const driver = fileURLToPath(new URL("driver.py", import.meta.url))

/** @typedef {{ readonly at: number, readonly text: string }} Piece */

/**
 * Starts a program on a terminal.
 * @param {ReadonlyArray<string>} argv
 * @param {{ readonly cwd: string, readonly env: Record<string, string>, readonly columns?: number, readonly rows?: number }} where
 */
export const openSeat = (argv, { columns = 120, cwd, env, rows = 40 }) => {
  const began = performance.now()
  const child = spawn("python3", [driver, JSON.stringify({ argv, columns, rows })], { cwd, env })
  /** @type {Array<Piece>} */
  const pieces = []
  /** @type {Set<() => void>} */
  const listeners = new Set()
  let rest = Buffer.alloc(0)
  let pid = 0
  let bytes = 0
  let text = ""
  child.stderr.pipe(process.stderr)
  child.stdout.on("data", (/** @type {Buffer} */ read) => {
    rest = Buffer.concat([rest, read])
    while (rest.length >= 4) {
      const length = rest.readUInt32BE(0)
      if (rest.length < 4 + (length === 0 ? 4 : length)) break
      if (length === 0) {
        pid = rest.readUInt32BE(4)
        rest = rest.subarray(8)
        continue
      }
      const piece = rest.subarray(4, 4 + length).toString("utf8")
      rest = rest.subarray(4 + length)
      bytes += length
      text = (text + piece).slice(-200_000)
      pieces.push({ at: performance.now(), text: piece })
      for (const listener of listeners) listener()
    }
  })
  const ended = new Promise((resolve) => child.once("close", resolve))

  /** Resolves with the time at which this was printed, from now on. @param {string} wanted */
  const printed = (wanted) =>
    new Promise((/** @type {(at: number) => void} */ resolve, reject) => {
      const from = pieces.length
      const look = () => {
        const tail = pieces.slice(Math.max(0, from)).map((piece) => piece.text).join("")
        if (!tail.includes(wanted)) return
        listeners.delete(look)
        resolve(pieces.at(-1)?.at ?? 0)
      }
      listeners.add(look)
      void ended.then(() => reject(new Error(`The program ended before it printed ${wanted}: ${text.slice(-2_000)}`)))
    })

  return {
    began,
    printed,
    ended,
    pieces,
    pid: () => pid,
    bytes: () => bytes,
    text: () => text,
    /** @param {string} keys */
    type: (keys) => child.stdin.write(keys),
    kill: async () => {
      if (pid > 0) process.kill(pid, "SIGKILL")
      await ended
    }
  }
}
