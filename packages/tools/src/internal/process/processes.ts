/**
 * Finds and ends the processes that a command has started: below it, in its group, or by a mark in their environment,
 * which goes with them wherever they go.
 */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import { closeSync, openSync, readFileSync, readSync } from "node:fs"
import { attempt, namesIn, textOf } from "../disk.ts"

/** A process, identified by its id and its start time. */
export interface Stray {
  readonly pid: number
  readonly began: string
}

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
  namesIn(`/proc/${pid}/task`).flatMap((thread) =>
    textOf(`/proc/${pid}/task/${thread}/children`).split(" ").filter(Boolean).map(
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

/** The variable with the marks, those of outer commands first: a Skein may run in a command of another one. */
export const variable = "SKEIN_GROUP"

/** The marks in its value. */
export const marksIn = (value: string | undefined): ReadonlyArray<string> =>
  (value ?? "").split(":").filter((mark) => /^[a-z0-9]+$/.test(mark))

/** How the marks of a tree's commands end. */
const endOf = (rootID: SessionID): string => rootID.replaceAll(/[^a-z0-9]/g, "")

/** A mark for a command of a tree. */
export const ofTree = (mark: string, rootID: SessionID | undefined): string =>
  rootID === undefined ? mark : `${mark}${endOf(rootID)}`

/** The variable as what runs under this mark sees it. */
export const markedBy = (
  mark: string,
  environment: Readonly<Record<string, string | undefined>>
): Readonly<Record<string, string>> => ({ [variable]: [...marksIn(environment[variable]), mark].join(":") })

const bytes = Buffer.allocUnsafeSlow(128 * 1024)

const environOf = (pid: number): string => {
  const path = `/proc/${pid}/environ`
  const file = attempt(() => openSync(path, "r"), -1)
  if (file < 0) return ""
  const size = attempt(() => readSync(file, bytes, 0, bytes.length, 0), 0)
  closeSync(file)
  if (size === bytes.length) return attempt(() => readFileSync(path, "latin1"), "")
  // Most processes have no mark, so do not decode their environment.
  return bytes.subarray(0, size).includes(variable) ? bytes.toString("latin1", 0, size) : ""
}

const marksOf = (pid: number): ReadonlyArray<string> =>
  marksIn(environOf(pid).split("\0").find((each) => each.startsWith(`${variable}=`))?.slice(variable.length + 1))

/** The ids of all processes. */
export const pids = (): ReadonlyArray<number> => namesIn("/proc").filter((name) => /^\d+$/.test(name)).map(Number)

/** The ids of all processes. With an id, only of those that started later, if the system can tell. */
const numbers = (after: number | undefined): ReadonlyArray<number> => {
  const all = pids()
  if (after === undefined) return all
  // The last id that was assigned. Ids restart when they have become too large.
  const last = Number(/ (\d+)\s*$/.exec(textOf("/proc/loadavg"))?.[1] ?? Number.NaN)
  if (Number.isNaN(last)) return all
  return all.filter((pid) => last >= after ? pid > after && pid <= last : pid > after || pid <= last)
}

/**
 * The processes with one of these marks. Finds none if there is no /proc, none of other users, and none that has
 * cleared or overwritten its environment. With `after`, only processes that started later are checked.
 */
export const marked = (
  marks: Pick<ReadonlySet<string>, "has">,
  after?: number
): ReadonlyArray<Stray & { readonly group: number }> =>
  numbers(after).flatMap((pid) => {
    if (!marksOf(pid).some((mark) => marks.has(mark))) return []
    const found = look(pid)
    return found === undefined || found.state === "Z" || found.state === "X"
      ? []
      : [{ pid, began: found.began, group: found.group }]
  })

/** The processes of a group. What is ending belongs to it until it has ended, although its environment is gone by then. */
export const inGroup = (leader: number, after?: number): ReadonlyArray<Stray> =>
  attempt(() => process.kill(-leader, 0), false)
    ? [leader, ...numbers(after)].flatMap((pid) => {
      const found = look(pid)
      return found?.group === leader ? [{ pid, began: found.began }] : []
    })
    : []

/** Kills what is found until nothing new is, unless it is started faster than it can be found. Returns it: it ends a moment later. */
const killAll = (
  find: () => ReadonlyArray<Stray & { readonly group: number }>,
  kill: (fresh: ReadonlyArray<Stray & { readonly group: number }>) => ReadonlyArray<Stray>
): ReadonlyArray<Stray> => {
  const killed = new Map<string, Stray>()
  for (let round = 0; round < 20; round++) {
    const fresh = find().filter(({ began, pid }) => !killed.has(`${pid} ${began}`))
    if (fresh.length === 0) break
    for (const { began, pid } of kill(fresh)) killed.set(`${pid} ${began}`, { pid, began })
  }
  return [...killed.values()]
}

/** Kills the processes with one of these marks. */
export const killMarked = (marks: ReadonlySet<string>, after?: number): ReadonlyArray<Stray> =>
  killAll(() => marked(marks, after), (fresh) => {
    signalStrays(fresh, "SIGKILL")
    return fresh
  })

/**
 * Ends the commands of trees, with the groups that they lead and what these have started. Spares those that this
 * process runs in itself. Takes as long for many trees as for one: it reads all processes.
 */
export const killTrees = (rootIDs: Iterable<SessionID>): ReadonlyArray<Stray> => {
  const own = new Set(marksOf(process.pid))
  const ends = Array.from(rootIDs, endOf)
  const marks = { has: (mark: string) => !own.has(mark) && ends.some((end) => mark.endsWith(end)) }
  return killAll(() => marked(marks), (fresh) => {
    const all = [...fresh, ...fresh.flatMap(({ pid }) => strays(pid))]
    for (const group of new Set(fresh.map((each) => each.group))) signalGroup(group, "SIGKILL")
    signalStrays(all, "SIGKILL")
    return all
  })
}
