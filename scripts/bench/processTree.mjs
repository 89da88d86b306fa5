// @ts-check
// What a process and its descendants use: CPU time from the shell that started them, memory from samples of /proc.
import { readdirSync, readFileSync } from "node:fs"

/** Whether this system tells what memory a process has (Linux does, in /proc). */
export const knowsMemory = process.platform === "linux"

/**
 * The command line that runs another one and leaves in a file what CPU time it and its children took. `times` is in
 * every POSIX shell, which the program `time` is not.
 * @param {string} file
 * @param {ReadonlyArray<string>} command
 * @returns {readonly [string, ReadonlyArray<string>]}
 */
export const timed = (file, command) => [
  "/bin/sh",
  ["-c", "\"$@\"; code=$?; times > \"$0\"; exit \"$code\"", file, ...command]
]

/**
 * The CPU seconds in that file: user and system, of the shell's children. Undefined when the shell was killed.
 * @param {string} file
 */
export const readTimes = (file) => {
  try {
    const times = [...readFileSync(file, "utf8").matchAll(/(\d+)m([\d.]+)s/g)]
      .map(([, minutes, seconds]) => Number(minutes) * 60 + Number(seconds))
    return times.length === 4 ? (times[2] ?? 0) + (times[3] ?? 0) : undefined
  } catch {
    return undefined
  }
}

/** @param {string} path */
const read = (path) => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // The process has ended.
    return ""
  }
}

/** @param {string} pid @returns {ReadonlyArray<string>} */
const childrenOf = (pid) => {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      read(`/proc/${pid}/task/${thread}/children`).split(" ").filter((child) => child !== "")
    )
  } catch {
    return []
  }
}

/**
 * Samples the memory of a process and its descendants until `stop`, which returns the most that was seen, in MB.
 * @param {number} pid
 */
export const watchMemory = (pid) => {
  if (!knowsMemory) return { stop: () => undefined }
  const known = new Set()
  let most = 0
  /** @param {string} id @returns {number} in kB */
  const resident = (id) => {
    // A process that was just forked shows its parent's pages until it runs a program of its own: it counts from the
    // second sample on.
    const status = known.has(id) ? read(`/proc/${id}/status`) : ""
    known.add(id)
    // What one process had at most needs no sample at the right moment.
    most = Math.max(most, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0))
    const own = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0)
    return childrenOf(id).reduce((sum, child) => sum + resident(child), own)
  }
  const timer = setInterval(() => {
    const together = resident(String(pid))
    most = Math.max(most, together)
  }, 40)
  return {
    stop: () => {
      clearInterval(timer)
      return most === 0 ? undefined : most / 1024
    }
  }
}
