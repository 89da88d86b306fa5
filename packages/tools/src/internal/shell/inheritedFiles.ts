/** Finds the open files that this process inherited, and would pass on to its children. */
import { readdirSync, readFileSync } from "node:fs"
import { attempt } from "../processes.ts"

const closedOnStart = 0o2000000

const look = (): ReadonlyArray<number> =>
  attempt(() => readdirSync("/proc/self/fdinfo"), []).map(Number).filter((number) => {
    if (number <= 2) return false
    const info = attempt(() => readFileSync(`/proc/self/fdinfo/${number}`, "utf8"), "")
    const flags = /^flags:\s*([0-7]+)$/m.exec(info)?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & closedOnStart) === 0
  })

let found: ReadonlyArray<number> | undefined

/**
 * Their numbers; none if there is no /proc. They do not change: files that Node opens are closed when a program starts.
 */
export const inheritedFiles = (): ReadonlyArray<number> => found ??= look()
