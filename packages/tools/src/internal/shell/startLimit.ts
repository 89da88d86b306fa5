/**
 * Keeps a command from starting too late. A process that is suspended right before it starts one does not know that its
 * tree was taken over meanwhile; the shell that it starts is awake, and looks at the clock of the machine first.
 */
import { readFileSync } from "node:fs"
import { attempt } from "../processes.ts"

/** What the clock of the machine says, in hundredths of a second since it started; undefined where it has none. */
const uptime = (): number | undefined => {
  const [, seconds, part] = /^(\d+)\.(\d\d) /.exec(attempt(() => readFileSync("/proc/uptime", "utf8"), "")) ?? []
  return seconds === undefined || part === undefined ? undefined : Number(`${seconds}${part}`)
}

/** The time on that clock in so many milliseconds; undefined where there is no limit, or no clock. */
export const limitIn = (milliseconds: number): number | undefined => {
  const now = Number.isFinite(milliseconds) ? uptime() : undefined
  return now === undefined ? undefined : now + Math.floor(milliseconds / 10)
}

/** The code with which a shell ends that was too late. It writes its mark then, which no command knows in advance. */
const lateCode = 75

/** What stands before a command line that must not begin after this time. */
export const unlessLate = (limit: number | undefined, mark: string): string =>
  limit === undefined
    ? ""
    : `IFS=' .' read -r up part rest </proc/uptime && [ "$up$part" -le ${limit} ] || { echo ${mark}; exit ${lateCode}; }; `

/** Whether a shell ended because it was too late. */
export const wasLate = (exit: number, output: string, mark: string): boolean =>
  exit === lateCode && output.trim() === mark
