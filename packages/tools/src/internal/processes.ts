/** Finds and ends the processes that a command has started. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { readdirSync, readFileSync } from "node:fs"

/** A process, told apart from a later one of the same number by when it began. */
export interface Stray {
  readonly pid: number
  readonly began: string
}

/** Reading /proc and sending signals is a race with processes that end: one that is gone needs no more attention. */
export const attempt = <A>(read: () => A, otherwise: A): A => Either.getOrElse(Either.try(read), () => otherwise)

/** What the system knows of a process; undefined where it is gone, or where there is no /proc that could be read. */
export const look = (
  pid: number
): { readonly group: number; readonly began: string; readonly state: string } | undefined =>
  attempt(() => {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    // The name of the program stands in brackets and may have anything in it; what follows the last one is regular.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return { group: Number(fields[2]), began: fields[19] ?? "", state: fields[0] ?? "" }
  }, undefined)

const children = (pid: number): ReadonlyArray<number> =>
  attempt(() => readdirSync(`/proc/${pid}/task`), []).flatMap((thread) =>
    attempt(() => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8"), "").split(" ").filter(Boolean).map(
      Number
    )
  )

/** The processes below one, at most one more than so many. Finds none where there is no /proc. */
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

/** The processes below the leader of a group that have left the group. Finds none where there is no /proc. */
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

/** Sends a signal to a process group, if there is one. */
export const signalGroup = (leader: number, signal: NodeJS.Signals): void => {
  attempt(() => process.kill(-leader, signal), false)
}

/** Sends a signal to those of the processes that are still the same. */
export const signalStrays = (processes: ReadonlyArray<Stray>, signal: NodeJS.Signals): void => {
  for (const { began, pid } of processes) {
    if (look(pid)?.began === began) attempt(() => process.kill(pid, signal), false)
  }
}

/** Whether it is still there, and not only to be reaped. */
export const isThere = ({ began, pid }: Stray): boolean => {
  const found = look(pid)
  return found?.began === began && found.state !== "Z" && found.state !== "X"
}

/** How often is looked whether processes have ended that are no children of this one, and how many times. */
const patience = { pace: "50 millis", looks: 20 } as const

/** Ends when they have, or after a second. */
export const endedInTime = Effect.fnUntraced(function*(processes: ReadonlyArray<Stray>) {
  for (let time = 0; time < patience.looks && processes.some(isThere); time++) yield* Effect.sleep(patience.pace)
})
