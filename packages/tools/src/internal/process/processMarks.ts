/** Finds processes by a mark in their environment, which goes with them wherever they go. */
import type { SessionID } from "@skein/domain/Id"
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs"
import { attempt, look, signalGroup, signalStrays, type Stray, strays } from "../processes.ts"

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
export const pids = (): ReadonlyArray<number> =>
  attempt(() => readdirSync("/proc"), []).filter((name) => /^\d+$/.test(name)).map(Number)

/** The ids of all processes. With an id, only of those that started later, if the system can tell. */
const numbers = (after: number | undefined): ReadonlyArray<number> => {
  const all = pids()
  if (after === undefined) return all
  // The last id that was assigned. Ids restart when they have become too large.
  const last = Number(/ (\d+)\s*$/.exec(attempt(() => readFileSync("/proc/loadavg", "utf8"), ""))?.[1] ?? Number.NaN)
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

/**
 * Kills them, including those that are started meanwhile, unless they are started faster than they can be found. Returns them:
 * they end a moment later.
 */
export const killMarked = (marks: ReadonlySet<string>, after?: number): ReadonlyArray<Stray> => {
  const killed = new Map<string, Stray>()
  for (let round = 0; round < 20; round++) {
    const fresh = marked(marks, after).filter(({ began, pid }) => !killed.has(`${pid} ${began}`))
    if (fresh.length === 0) break
    signalStrays(fresh, "SIGKILL")
    for (const each of fresh) killed.set(`${each.pid} ${each.began}`, each)
  }
  return [...killed.values()]
}

/**
 * Ends the commands of trees, with the groups that they lead and what these have started. Spares those that this
 * process runs in itself. Takes as long for many trees as for one: it reads all processes.
 */
export const killTrees = (rootIDs: Iterable<SessionID>): ReadonlyArray<Stray> => {
  const own = new Set(marksOf(process.pid))
  const ends = Array.from(rootIDs, endOf)
  const marks = { has: (mark: string) => !own.has(mark) && ends.some((end) => mark.endsWith(end)) }
  const killed = new Map<string, Stray>()
  for (let round = 0; round < 20; round++) {
    const fresh = marked(marks).filter(({ began, pid }) => !killed.has(`${pid} ${began}`))
    if (fresh.length === 0) break
    const below = fresh.flatMap(({ pid }) => strays(pid))
    for (const group of new Set(fresh.map((each) => each.group))) signalGroup(group, "SIGKILL")
    signalStrays([...fresh, ...below], "SIGKILL")
    for (const { began, pid } of [...fresh, ...below]) killed.set(`${pid} ${began}`, { pid, began })
  }
  return [...killed.values()]
}
