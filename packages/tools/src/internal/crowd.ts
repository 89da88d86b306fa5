/** Decides how many processes a command may have, and counts those of one that no sandbox holds. */
import * as Effect from "effect/Effect"
import { readdirSync, readFileSync } from "node:fs"
import { attempt, look } from "./processes.ts"

/** How many processes a command may have. */
export const mostProcesses = 2_000

/** Says that a command had more. */
export const crowdedText = (most: number): string => `It had more than ${most} processes.`

/** How often to check. */
const pace = "500 millis"

/** How many threads the machine has; 0 if the system does not say it. Each new process adds one. */
const threads = (): number => Number(/\/(\d+)/.exec(attempt(() => readFileSync("/proc/loadavg", "utf8"), ""))?.[1] ?? 0)

/** How many processes are in the group or in the session of a leader, or below one that is. */
const crowdOf = (leader: number): number => {
  const parents = new Map<number, number>()
  const members = new Map<number, boolean>([[leader, true]])
  for (const name of attempt(() => readdirSync("/proc"), [])) {
    const pid = Number(name)
    const found = pid > 0 ? look(pid) : undefined
    if (found === undefined) continue
    parents.set(pid, found.parent)
    if (found.group === leader || found.session === leader) members.set(pid, true)
  }
  const isMember = (pid: number): boolean => {
    const known = members.get(pid)
    if (known !== undefined) return known
    const parent = parents.get(pid)
    const is = parent !== undefined && isMember(parent)
    members.set(pid, is)
    return is
  }
  return [...parents.keys()].filter(isMember).length
}

/** Makes the watcher of commands, which completes when one has too many processes, and says so. */
export const makeWatchCrowd = (most: number) => (leader: number): Effect.Effect<string> =>
  Effect.suspend(() => {
    let calm: number | undefined
    // Reading all processes takes long. So do it only when there are many more than before. A busy machine may look for the
    // first time when the command has its crowd already: then all that run count.
    const isCrowded = () => {
      const now = threads()
      const enough = calm === undefined ? most : Math.min(calm, now) + most / 4
      calm = Math.min(calm ?? now, now)
      if (now < enough) return false
      calm = now
      return crowdOf(leader) > most
    }
    const again: Effect.Effect<string> = Effect.flatMap(
      Effect.sleep(pace),
      () => isCrowded() ? Effect.succeed(crowdedText(most)) : again
    )
    return again
  })
