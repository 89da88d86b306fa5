/** Finds and ends the processes that a command has started. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { readdirSync, readFileSync } from "node:fs"

/** A process, identified by its id and its start time. */
export interface Stray {
  readonly pid: number
  readonly began: string
}

/** Processes may end while /proc is read or signals are sent. A process that has ended needs no more attention. */
export const attempt = <A>(read: () => A, otherwise: A): A => Either.getOrElse(Either.try(read), () => otherwise)

/** The system's data about a process; undefined if it has ended, or if there is no readable /proc. */
export const look = (
  pid: number
): {
  readonly parent: number
  readonly group: number
  readonly session: number
  readonly began: string
  readonly state: string
} | undefined =>
  attempt(() => {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    // The name of the program is in brackets and may contain anything. What follows the last bracket is regular.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    const [state = "", parent, group, session] = fields
    return { parent: Number(parent), group: Number(group), session: Number(session), began: fields[19] ?? "", state }
  }, undefined)

const children = (pid: number): ReadonlyArray<number> =>
  attempt(() => readdirSync(`/proc/${pid}/task`), []).flatMap((thread) =>
    attempt(() => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8"), "").split(" ").filter(Boolean).map(
      Number
    )
  )

/** The processes below one, at most one more than the limit. Finds none if there is no /proc. */
export const descendants = (pid: number, most: number): ReadonlyArray<number> => {
  const found = new Set<number>()
  const open = [pid]
  for (let next = open.pop(); next !== undefined && found.size <= most; next = open.pop()) {
    for (const child of children(next)) {
      if (found.has(child)) continue
      found.add(child)
      open.push(child)
    }
  }
  return [...found]
}

/** The processes below the leader of a group that have left the group. Finds none if there is no /proc. */
export const strays = (leader: number): ReadonlyArray<Stray> => {
  const found: Array<Stray> = []
  const open = [leader]
  const known = new Set(open)
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const pid of children(next)) {
      const child = known.has(pid) ? undefined : look(pid)
      if (child === undefined) continue
      known.add(pid)
      open.push(pid)
      if (child.group !== leader) found.push({ pid, began: child.began })
    }
  }
  return found
}

/** Sends a signal to a process group, if it exists. */
export const signalGroup = (leader: number, signal: NodeJS.Signals): void => {
  attempt(() => process.kill(-leader, signal), false)
}

/** Sends a signal to those of the processes that are still the same. */
export const signalStrays = (processes: ReadonlyArray<Stray>, signal: NodeJS.Signals): void => {
  for (const { began, pid } of processes) {
    if (look(pid)?.began === began) attempt(() => process.kill(pid, signal), false)
  }
}

/** Whether it still runs. A zombie does not. */
export const isThere = ({ began, pid }: Stray): boolean => {
  const found = look(pid)
  return found?.began === began && found.state !== "Z" && found.state !== "X"
}

/** After which times to check whether processes have ended that are not children of this one: a second in all. */
const looks = [1, 4, 15, 30, ...Array.from({ length: 19 }, () => 50)]

/** Completes when they have ended, or after a second. */
export const endedInTime = Effect.fnUntraced(function*(processes: ReadonlyArray<Stray>) {
  for (const pause of looks) {
    if (!processes.some(isThere)) return
    yield* Effect.sleep(pause)
  }
})
