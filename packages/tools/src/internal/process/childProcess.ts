/** Starts programs without a shell: says why one did not start, and how it ended. */
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberId from "effect/FiberId"
import { type ChildProcess, spawn, type StdioOptions } from "node:child_process"
import { stat } from "node:fs"
import type { Readable, Writable } from "node:stream"
import type { Tracked } from "../../Tracked.ts"
import { type ProcessGroup, processGroup } from "./processGroup.ts"

/** A program did not start. `missing` says what does not exist, if that is why. */
export class NotStarted extends Data.TaggedError("NotStarted")<{
  readonly missing: "directory" | "program" | undefined
  readonly reason: string
}> {}

/** How it ended. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** What to run, and where. */
interface Start {
  readonly file: string
  readonly args: ReadonlyArray<string>
  /** Absolute. */
  readonly directory: string
  readonly environment: Readonly<Record<string, string>>
  /** Three pipes by default. */
  readonly stdio?: StdioOptions
  /** Whether it stays in the group of this process. */
  readonly inGroup?: boolean
}

/** A process. Streams that `stdio` does not make pipes do not exist. */
export interface Child extends ChildProcess {
  readonly pid: number
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
}

/** The system reports a missing directory as a missing program. */
const whyNot = ({ directory, file }: Start, error: NodeJS.ErrnoException) =>
  Effect.async<never, NotStarted>((resume) => {
    stat(directory, (gone) => {
      if (gone !== null) {
        return resume(new NotStarted({ missing: "directory", reason: `the directory ${directory} is gone` }))
      }
      if (error.code === "ENOENT") {
        return resume(new NotStarted({ missing: "program", reason: `there is no program ${file}` }))
      }
      const reason = error.code === "EACCES" ? `${file} may not be run; check its mode` : error.message
      resume(new NotStarted({ missing: undefined, reason }))
    })
  })

/** Starts a program. `attach` listens to it from its first moment: Node drops what it says to nobody. */
export const startChild = <A>(
  start: Start,
  attach: (child: Child, ended: Deferred.Deferred<Ended>) => A
): Effect.Effect<A, NotStarted> =>
  Effect.async((resume) => {
    const { args, directory, environment, file, inGroup = false, stdio = "pipe" } = start
    const spawning = Either.try(() =>
      spawn(file, args, { cwd: directory, env: environment, stdio, detached: !inGroup })
    )
    if (Either.isLeft(spawning)) {
      const error = spawning.left
      return resume(
        new NotStarted({ missing: undefined, reason: error instanceof Error ? error.message : String(error) })
      )
    }
    const child = spawning.right
    const ended = Deferred.unsafeMake<Ended>(FiberId.none)
    child.once("exit", (code, signal) => Deferred.unsafeDone(ended, Effect.succeed({ code, signal })))
    child.on("error", (error) => resume(whyNot(start, error)))
    if (child.pid === undefined) return
    const attached = attach(child as Child, ended)
    child.once("spawn", () => resume(Effect.succeed(attached)))
  })

/** The same for a command with a record. Its group can be ended as a whole. */
export const startTracked = <A>(
  { isSandbox = false, tracked, ...start }: Start & { readonly tracked: Tracked; readonly isSandbox?: boolean },
  attach: (child: Child, ended: Deferred.Deferred<Ended>, group: ProcessGroup) => A
): Effect.Effect<A, NotStarted> =>
  Effect.flatMap(
    Effect.clock,
    (clock) =>
      startChild({ ...start, environment: { ...start.environment, ...tracked.environment } }, (child, ended) => {
        const { pid } = child
        tracked.started(pid)
        return attach(
          child,
          ended,
          processGroup({ pid, mark: tracked.mark, ended: Deferred.await(ended), clock, isSandbox })
        )
      })
  )
