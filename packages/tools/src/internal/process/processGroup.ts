/**
 * A process group from its start to its end: asked to end, forced to end, and ended together with this process, however
 * that ends.
 */
import { elapsed } from "@skein/core/MonotonicClock"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { endedInTime, inGroup, killMarked, marked, signalGroup, signalStrays, strays } from "./processes.ts"

/** The leaders of the groups, and the marks of their processes. */
const guarded = new Map<number, string | undefined>()

const endGuarded = (): void => {
  for (const leader of guarded.keys()) {
    const left = strays(leader)
    signalGroup(leader, "SIGKILL")
    signalStrays(left, "SIGKILL")
  }
  const marks = new Set([...guarded.values()].filter((mark) => mark !== undefined))
  if (marks.size > 0) killMarked(marks)
}

/** Ends a process group with this process, even if that exits immediately. Returns how to undo this. */
export const guard = (leader: number, mark?: string): () => void => {
  if (guarded.size === 0) process.on("exit", endGuarded)
  guarded.set(leader, mark)
  return () => {
    guarded.delete(leader)
    if (guarded.size === 0) process.off("exit", endGuarded)
  }
}

/** A process group. */
export interface ProcessGroup {
  /** Asks the whole group to end, including processes that left it. Kills it after a second. */
  readonly stop: Effect.Effect<void>
  /** Kills what is left of it, once. None of it is there after that, unless the system takes longer than a second. */
  readonly kill: Effect.Effect<void>
}

/** How long a process may take to end after it was asked to. */
const grace = "1 second"

/** Process ids wrap around. They only show which process is newer within this time, in milliseconds. */
const brief = 5_000

/** The group that this process leads, whose commands carry this mark. `ended` completes when the leader has ended. */
export const processGroup = (options: {
  readonly pid: number
  readonly mark: string
  readonly ended: Effect.Effect<unknown, unknown>
  readonly clock: Clock.Clock
  /** Whether the group is a sandbox, which ends all processes in it immediately. */
  readonly isSandbox?: boolean
}): ProcessGroup => {
  const { clock, ended, mark, pid } = options
  const began = elapsed(clock)
  const unguard = guard(pid, mark)
  const marks = new Set([mark])
  const since = () => elapsed(clock) - began > brief ? undefined : pid
  // A process that cleared its environment is only found below its parents, while these exist.
  const departed = () => marked(marks, since()).filter(({ group }) => group !== pid)
  const outside = () => [...strays(pid), ...departed()]
  // Stopping cannot be interrupted, and an uninterruptible effect cannot time out.
  const leaderInTime = Effect.timeoutOption(Effect.interruptible(Effect.exit(ended)), grace)
  let isOver = false
  return {
    stop: Effect.gen(function*() {
      const asked = outside()
      // A process can only clean up while its sandbox exists. Once a command has begun, the sandbox has two processes.
      if (options.isSandbox !== true || asked.length < 2) signalGroup(pid, "SIGTERM")
      signalStrays(asked, "SIGTERM")
      const [inTime] = yield* Effect.all([leaderInTime, endedInTime(asked)], { concurrency: 2 })
      const left = [...asked, ...strays(pid)]
      if (Option.isNone(inTime)) {
        signalGroup(pid, "SIGKILL")
        yield* leaderInTime
      }
      signalStrays(left, "SIGKILL")
      // What a sandbox takes with it ends a moment after the sandbox. In the group itself, the last output is still
      // passed on.
      const last = departed()
      signalStrays(last, "SIGKILL")
      yield* endedInTime(last)
    }),
    kill: Effect.uninterruptible(Effect.suspend(() => {
      if (isOver) return Effect.void
      isOver = true
      unguard()
      const last = inGroup(pid, since())
      signalGroup(pid, "SIGKILL")
      // Processes end in real time, whatever the clock is.
      return Effect.withClock(endedInTime([...last, ...killMarked(marks, since())]), Clock.make())
    }))
  }
}
