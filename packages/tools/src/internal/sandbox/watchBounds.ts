/** Watches what a confined command uses of the machine: processes, memory, and space in its /tmp and home. */
import * as Effect from "effect/Effect"
import * as NodeFs from "node:fs"
import { totalmem } from "node:os"
import { join } from "node:path"
import { attempt, namesIn, textOf } from "../disk.ts"
import { descendants } from "../process/processes.ts"
import { crowdedText, mostProcesses } from "../watchdog/watchdogProgram.ts"

/** What a command may use. */
export interface Bounds {
  readonly processes: number
  /** Bytes of memory of all its processes together. */
  readonly memory: number
  /** Bytes in its /tmp and home, which it shares with earlier commands. */
  readonly files: number
}

/** The defaults. */
export const usualBounds = (): Bounds => ({
  processes: mostProcesses,
  memory: Math.floor(totalmem() * 0.75),
  files: 4 * 1024 ** 3
})

/** How often to check. */
const pace = "500 millis"

/** The maximum number of files that are measured, and the number above which they are measured less often. */
const mostFiles = 200_000
const many = { files: 2_000, rest: 20 } as const

const page = 4_096

/** The memory of a process that is not backed by a file. Shared memory counts for each process. */
const memoryOf = (pid: number): number => {
  const [, resident = 0, shared = 0] = textOf(`/proc/${pid}/statm`).split(" ")
    .map(Number)
  return Math.max(0, resident - shared) * page
}

/** The space that directories use, and how many files they contain. */
const measure = (directories: ReadonlyArray<string>): { readonly size: number; readonly seen: number } => {
  let size = 0
  let seen = 0
  const open = [...directories]
  for (let at = open.pop(); at !== undefined && seen < mostFiles; at = open.pop()) {
    for (const name of namesIn(at)) {
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

/** The space of directories, as of the last measurement. */
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

/** Makes the watcher for the commands of one process; `directories` are their /tmp and home. */
export const makeWatchBounds = (bounds: Bounds, directories: ReadonlyArray<string>) => {
  const beyond = (pid: number, used: () => number, before: number): string | undefined => {
    const processes = descendants(pid, bounds.processes)
    if (processes.length > bounds.processes) return crowdedText(bounds.processes)
    if (processes.reduce((sum, each) => sum + memoryOf(each), 0) > bounds.memory) {
      return `It used more than ${amount(bounds.memory)} of memory.`
    }
    const now = used()
    return now > bounds.files && now > before
      ? `Its /tmp and home hold more than ${amount(bounds.files)}. Remove what is not needed there.`
      : undefined
  }

  /** Completes when a command uses too much, and says of what. */
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
