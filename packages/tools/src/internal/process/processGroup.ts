/** A process group from its start to its end: asked to end, made to end, and taken along when this process ends. */
import { elapsed } from "@skein/core/MonotonicClock"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { endedInTime, signalGroup, signalStrays, strays } from "../processes.ts"
import { guard } from "./processGuard.ts"
import { killMarked, marked } from "./processMarks.ts"

/** A process group. */
export interface ProcessGroup {
  /** Asks all of it to end, also what has left the group; after a second it has to. */
  readonly stop: Effect.Effect<void>
  /** Ends what is left of it, at once and once. */
  readonly kill: Effect.Effect<void>
}

/** How long a process may take to end after it was asked to. */
const grace = "1 second"

/** Numbers of processes come round again: only of what ran no longer than this, in milliseconds, do they tell what is newer. */
const brief = 5_000

/** The group that this process leads, whose commands are under this mark; `ended` ends with it. */
export const processGroup = (options: {
  readonly pid: number
  readonly mark: string
  readonly ended: Effect.Effect<unknown, unknown>
  readonly clock: Clock.Clock
  /** Whether the group is a sandbox, with which all in it ends at once. */
  readonly isSandbox?: boolean
}): ProcessGroup => {
  const { clock, ended, mark, pid } = options
  const began = elapsed(clock)
  const unguard = guard(pid, mark)
  const marks = new Set([mark])
  const since = () => elapsed(clock) - began > brief ? undefined : pid
  // Who has cleared its environment is found below its parents as long as these are there.
  const outside = () => [...strays(pid), ...marked(marks, since()).filter(({ group }) => group !== pid)]
  // Stopping is not interrupted itself, and what cannot be interrupted cannot be timed out.
  const leaderInTime = Effect.timeoutOption(Effect.interruptible(Effect.exit(ended)), grace)
  let isOver = false
  return {
    stop: Effect.gen(function*() {
      const asked = outside()
      // Who is in a sandbox can put things away only while that stands; there are two in it once a command has begun.
      if (options.isSandbox !== true || asked.length < 2) signalGroup(pid, "SIGTERM")
      signalStrays(asked, "SIGTERM")
      const [inTime] = yield* Effect.all([leaderInTime, endedInTime(asked)], { concurrency: 2 })
      const left = [...asked, ...strays(pid)]
      if (Option.isNone(inTime)) {
        signalGroup(pid, "SIGKILL")
        yield* leaderInTime
      }
      signalStrays(left, "SIGKILL")
    }),
    kill: Effect.sync(() => {
      if (isOver) return
      isOver = true
      unguard()
      signalGroup(pid, "SIGKILL")
      killMarked(marks, since())
    })
  }
}
