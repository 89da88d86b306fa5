/**
 * Runs a program without real time and without the event loop: a seed decides the order of the fibers, and the clock
 * advances when all of them wait. A thousand interleavings take seconds, and each can be repeated by its seed.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Random from "effect/Random"
import * as RuntimeFlags from "effect/RuntimeFlags"
import * as Scheduler from "effect/Scheduler"
import { PCGRandom } from "effect/Utils"

interface Sleep {
  readonly until: number
  readonly wake: () => void
}

const makeClock = () => {
  let now = 0
  let sleeps: ReadonlyArray<Sleep> = []
  const clock: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => now,
    unsafeCurrentTimeNanos: () => BigInt(Math.round(now * 1e6)),
    currentTimeMillis: Effect.sync(() => now),
    currentTimeNanos: Effect.sync(() => BigInt(Math.round(now * 1e6))),
    sleep: (duration) =>
      Effect.async<void>((resume) => {
        const sleep: Sleep = { until: now + Duration.toMillis(duration), wake: () => resume(Effect.void) }
        sleeps = [...sleeps, sleep]
        return Effect.sync(() => {
          sleeps = sleeps.filter((each) => each !== sleep)
        })
      })
  }
  /** Advances to the next wake-up; false if all fibers sleep forever. */
  const next = (): boolean => {
    const until = Math.min(...sleeps.map((each) => each.until))
    if (!Number.isFinite(until)) return false
    now = Math.max(now, until)
    const due = sleeps.filter((each) => each.until <= now)
    sleeps = sleeps.filter((each) => each.until > now)
    for (const each of due) each.wake()
    return true
  }
  return { clock, next }
}

/** More operations than a small program needs: one that reaches this loops forever. */
const many = 1_000_000

/** The options of a simulation. */
export interface SimulationOptions {
  readonly seed: number
  /** The maximum number of operations before a fiber yields; 300 if absent. Effect's own schedulers allow 2,048. */
  readonly maxSlice?: number
  /** Whether fibers also yield while they cannot be interrupted. Not for programs that interrupt, see `calm`. */
  readonly everywhere?: boolean
  /** After how many operations a program counts as an endless loop; a million if absent. */
  readonly limit?: number
  /** Called before every operation of any fiber. */
  readonly step?: (n: number) => void
}

/** The minimum number of operations between two yields of a fiber. */
const fewest = 32

/**
 * For how many operations a fiber continues after it has scheduled something. `Effect.forEach` of effect 3.22.4 hangs
 * when it yields and is interrupted between the start of its inner fiber and its first operation.
 */
const calm = 12

/** Whether a fiber can be interrupted now; the flag is public only as an effect, which cannot run here. */
const interruptible = (fiber: object): boolean =>
  "currentRuntimeFlags" in fiber && RuntimeFlags.interruptible(fiber.currentRuntimeFlags as RuntimeFlags.RuntimeFlags)

/** Runs a program to its end; throws its failure, and an error if it waits forever. */
export const simulate = <A, E>(program: Effect.Effect<A, E>, simulation: SimulationOptions): A => {
  const { everywhere = false, limit = many, maxSlice = 300, seed, step } = simulation
  const random = new PCGRandom(seed)
  const { clock, next } = makeClock()
  const queue: Array<() => void> = []
  let n = 0
  let until = fewest
  let scheduled = 0
  const scheduler = Scheduler.make(
    (task) => {
      queue.push(task)
      scheduled = n
    },
    (fiber) => {
      n += 1
      step?.(n)
      if (n > limit) throw new Error(`seed ${seed}: no end after ${limit} operations`)
      if (fiber.currentOpCount < until || n - scheduled < calm || !(everywhere || interruptible(fiber))) return false
      until = fewest + Math.floor(random.number() * maxSlice)
      return 0
    }
  )
  const fiber = Effect.runFork(
    program.pipe(
      Effect.withClock(clock),
      Effect.withRandom(Random.make(seed)),
      Effect.provide(Logger.remove(Logger.defaultLogger))
    ),
    { scheduler }
  )
  let exit: Exit.Exit<A, E> | undefined
  fiber.addObserver((ended) => {
    exit = ended
  })
  while (exit === undefined) {
    const task = queue.shift()
    if (task !== undefined) task()
    else if (!next()) throw new Error(`seed ${seed}: deadlock`)
  }
  if (Exit.isSuccess(exit)) return exit.value
  const error = Cause.squash(exit.cause)
  throw error instanceof Error ? Object.assign(error, { message: `seed ${seed}: ${error.message}` }) : error
}
