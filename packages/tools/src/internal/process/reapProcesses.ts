/** Ends the processes that dead Skeins left behind, and nothing else. */
import type { Owner } from "@skein/core/Owner"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as fs from "node:fs/promises"
import { join } from "node:path"
import { endedInTime, isThere, look, signalGroup, signalStrays, type Stray, strays } from "../processes.ts"
import { killMarked, marked, pids } from "./processMarks.ts"

/** A command with a record. */
interface Left {
  readonly file: string
  readonly mark: string
  /** Its process, if known. */
  readonly leader: Stray | undefined
}

/**
 * How long to keep a record if it is unknown whether its Skein still runs, for example on another machine: a day, in
 * milliseconds.
 */
const longest = 86_400_000

const form = /^(?<owner>\S+)\n(?:(?<pid>[1-9]\d*) (?<began>\d+)\n)?$/

/** The members of the groups whose leaders are still the same, their children, and the processes with the marks. */
const remains = (left: ReadonlyArray<Left>): ReadonlyArray<Stray & { readonly group: number | undefined }> => {
  const leaders = left.flatMap(({ leader }) =>
    leader !== undefined && look(leader.pid)?.began === leader.began
      ? [leader.pid] :
      []
  )
  const groups = new Set(leaders)
  const members = groups.size === 0 ? [] : pids().flatMap((pid) => {
    const found = look(pid)
    return found !== undefined && groups.has(found.group) ? [{ pid, began: found.began, group: found.group }] : []
  })
  const others = [...leaders.flatMap(strays), ...marked(new Set(left.map(({ mark }) => mark)))]
  const all = [...members, ...others.map((each) => ({ ...each, group: undefined }))]
  return all.filter((each, index) => all.findIndex(({ pid }) => pid === each.pid) === index)
}

const end = Effect.fnUntraced(function*(left: ReadonlyArray<Left>) {
  const found = remains(left)
  signalStrays(found, "SIGTERM")
  // A shorter run does not wait for them, and leaves nothing to the next start.
  yield* Effect.exit(Effect.interruptible(endedInTime(found)))
  // A group is the same as long as one of its members is.
  const groups = new Set(found.flatMap((each) => each.group !== undefined && isThere(each) ? [each.group] : []))
  for (const group of groups) signalGroup(group, "SIGKILL")
  signalStrays(found, "SIGKILL")
  killMarked(new Set(left.map(({ mark }) => mark)))
  return found.length
})

/** Reads the records that belong to this user. In a directory for temporary files, anybody may have written others. */
const read = (directory: string, name: string) =>
  Effect.tryPromise(async () => {
    const file = join(directory, name)
    const stat = await fs.lstat(file)
    const isOurs = stat.isFile() && stat.uid === process.getuid?.() && (stat.mode & 0o022) === 0
    const { began, owner, pid } = (isOurs ? form.exec(await fs.readFile(file, "utf8"))?.groups : undefined) ?? {}
    if (owner === undefined) return undefined
    const leader = pid === undefined || began === undefined ? undefined : { pid: Number(pid), began }
    return { file, mark: name, leader, owner, time: stat.mtimeMs }
  }).pipe(
    // Its command may be ending just now.
    Effect.catchAll(() => Effect.succeed(undefined))
  )

const remove = ({ file }: { readonly file: string }) =>
  Effect.catchAll(
    Effect.tryPromise(() => fs.rm(file, { force: true })),
    ({ cause }) => Effect.logWarning(`${file} could not be removed`, cause)
  )

/** Checks the records of a directory. `under` are marks to spare: this process carries them itself. */
export const reapProcesses = Effect.fnUntraced(function*(options: {
  readonly directory: string
  readonly names: ReadonlyArray<string>
  readonly owner: typeof Owner.Service
  readonly under: ReadonlyArray<string>
}) {
  const { directory, names, owner, under } = options
  const now = yield* Clock.currentTimeMillis
  const known = yield* Effect.forEach(
    names.filter((name) => /^[a-z0-9]+$/.test(name) && !under.includes(name)),
    (name) => read(directory, name)
  )
  const left: Array<Left> = []
  for (const record of known) {
    if (record === undefined || record.owner === owner.id) continue
    if (yield* owner.isGone(record.owner)) left.push(record)
    else if (now - record.time > longest) yield* remove(record)
  }
  if (left.length === 0) return 0
  const count = yield* end(left)
  yield* Effect.forEach(left, remove, { discard: true })
  if (count > 0) yield* Effect.logInfo(`Ended ${count} processes of commands whose Skein has died`)
  return count
})
