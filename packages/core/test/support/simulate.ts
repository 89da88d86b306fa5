/**
 * Runs a program by itself, without real time and without the event loop: fibers take turns in an order that a seed
 * decides, and the clock goes on when all of them wait. A thousand different interleavings take seconds, and each can be
 * repeated by its seed.
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
  /** Goes on to the next time at which somebody wakes; false where all sleep for ever. */
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

/** More operations than a small program needs: one that gets there goes round in circles. */
const many = 1_000_000

/** How a program is run. */
export interface Simulation {
  readonly seed: number
  /** The most operations that a fiber makes before it gives way; 300 where absent. Effect's own schedulers take 2,048. */
  readonly patience?: number
  /** Whether fibers also give way where they cannot be interrupted. Not for programs that interrupt, see `calm`. */
  readonly everywhere?: boolean
  /** After how many operations a program that has not ended goes round in circles; a million where absent. */
  readonly limit?: number
  /** Called before every operation of any fiber. */
  readonly step?: (n: number) => void
}

/** The fewest operations between two times that a fiber gives way. */
const fewest = 32

/**
 * For how many operations a fiber goes on after it has scheduled something. `Effect.forEach` of effect 3.22.4 hangs when it
 * gives way and is interrupted between the start of its inner fiber and its first operation.
 */
const calm = 12

/** Whether a fiber can be interrupted now; the flag is public only as an effect, for which this is not the place. */
const interruptible = (fiber: object): boolean =>
  "currentRuntimeFlags" in fiber && RuntimeFlags.interruptible(fiber.currentRuntimeFlags as RuntimeFlags.RuntimeFlags)

/** Runs a program to its end; throws what it fails with, and where it waits for something that cannot come. */
export const simulate = <A, E>(program: Effect.Effect<A, E>, simulation: Simulation): A => {
  const { everywhere = false, limit = many, patience = 300, seed, step } = simulation
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
      until = fewest + Math.floor(random.number() * patience)
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
    else if (!next()) throw new Error(`seed ${seed}: everything waits for ever`)
  }
  if (Exit.isSuccess(exit)) return exit.value
  const error = Cause.squash(exit.cause)
  throw error instanceof Error ? Object.assign(error, { message: `seed ${seed}: ${error.message}` }) : error
}
