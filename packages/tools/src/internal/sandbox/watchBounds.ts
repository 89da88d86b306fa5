/** Watches what a confined command takes of the machine: processes, memory, and room in its /tmp and home. */
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { totalmem } from "node:os"
import { join } from "node:path"
import { attempt, descendants } from "../processes.ts"

/** What a command may take. */
export interface Bounds {
  readonly processes: number
  /** Bytes of memory, of all its processes together. */
  readonly memory: number
  /** Bytes in its /tmp and home, which it shares with the commands before it. */
  readonly files: number
}

/** What holds unless somebody says otherwise. */
export const usualBounds = (): Bounds => ({
  processes: 2_000,
  memory: Math.floor(totalmem() * 0.75),
  files: 4 * 1024 ** 3
})

/** How often is looked. */
const pace = "500 millis"

/** The most files that are measured, and with how many of them that is done only now and then. */
const mostFiles = 200_000
const many = { files: 2_000, rest: 20 } as const

const page = 4_096

/** The memory of a process that no file on disk backs; what processes share counts for each. */
const memoryOf = (pid: number): number => {
  const [, resident = 0, shared = 0] = attempt(() => NodeFs.readFileSync(`/proc/${pid}/statm`, "utf8"), "").split(" ")
    .map(Number)
  return Math.max(0, resident - shared) * page
}

/** The room that directories take, and how many files lie in them. */
const measure = (directories: ReadonlyArray<string>): { readonly size: number; readonly seen: number } => {
  let size = 0
  let seen = 0
  const open = [...directories]
  for (let at = open.pop(); at !== undefined && seen < mostFiles; at = open.pop()) {
    for (const name of attempt(() => NodeFs.readdirSync(at), [])) {
      seen++
      const path = join(at, name)
      const stat = attempt(() => NodeFs.lstatSync(path), undefined)
      if (stat === undefined) continue
      size += stat.blocks * 512
      if (stat.isDirectory()) open.push(path)
    }
  }
  return { size, seen }
}

/** What directories hold, as it was when it was last measured. */
const makeUsed = (directories: ReadonlyArray<string>): () => number => {
  let last = { size: 0, seen: 0 }
  let rests = 0
  return () => {
    if (rests-- > 0) return last.size
    last = measure(directories)
    rests = last.seen > many.files ? many.rest : 0
    return last.size
  }
}

const amount = (bytes: number): string =>
  bytes < 1024 ** 3 ? `${Math.ceil(bytes / 1024 ** 2)} MB` : `${(bytes / 1024 ** 3).toFixed(1)} GB`

/** Makes what watches the commands of one process; `directories` are their /tmp and home. */
export const makeWatchBounds = (bounds: Bounds, directories: ReadonlyArray<string>) => {
  const beyond = (pid: number, used: () => number, before: number): string | undefined => {
    const processes = descendants(pid, bounds.processes)
    if (processes.length > bounds.processes) return `It had more than ${bounds.processes} processes.`
    if (processes.reduce((sum, each) => sum + memoryOf(each), 0) > bounds.memory) {
      return `It used more than ${amount(bounds.memory)} of memory.`
    }
    const now = used()
    return now > bounds.files && now > before
      ? `Its /tmp and home hold more than ${amount(bounds.files)}. Remove what is not needed there.`
      : undefined
  }

  /** Ends when a command takes too much, with what that was. */
  return (pid: number): Effect.Effect<string> =>
    Effect.suspend(() => {
      const used = makeUsed(directories)
      const before = used()
      const look: Effect.Effect<string> = Effect.flatMap(
        Effect.sleep(pace),
        () => {
          const reason = beyond(pid, used, before)
          return reason === undefined ? look : Effect.succeed(reason)
        }
      )
      return look
    })
}
