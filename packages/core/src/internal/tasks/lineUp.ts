/** The way of a run from its request to its slot: until then it is data, and no fiber waits for it. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import { Config } from "../../Config.ts"
import { Governor } from "../../Governor.ts"
import { Journal } from "../../Journal.ts"
import { inProject } from "../live/inProject.ts"
import type { RunningTask } from "../live/Live.ts"
import { setStatus } from "../live/setStatus.ts"
import { logUnstored } from "../logUnstored.ts"
import { Alarms } from "./Alarms.ts"

/** Asks for the slot of a run whose turn has come. With the slot, or after its timeout, the run begins. */
const approach = Effect.fnUntraced(function*(task: RunningTask) {
  const governor = yield* Governor
  const journal = yield* Journal
  const alarms = yield* Alarms
  const runtime = yield* Effect.runtime<never>()
  const { live } = task
  const start = (effect: Effect.Effect<void>) => void Runtime.runFork(runtime)(effect, { immediate: false })
  const context = yield* Effect.context<Effect.Effect.Context<ReturnType<typeof setStatus>>>()
  const queued = (position: number) => Effect.provide(setStatus(live, { type: "queued", position }), context)
  // Something ended it meanwhile and let it begin: it settles without a slot.
  if (task.hasBegun) return
  task.asked = live.clock.now()
  const { settings: { limits: { concurrency: most } } } = yield* inProject(live, Config)
  if (task.hasBegun) return
  let isTold = false
  const news = {
    most,
    queued,
    // No need to wait until this is stored: what the run stores next comes after it.
    granted: Effect.flatMap(Clock.currentTimeMillis, (now) => {
      // A run that settled without a slot leaves it to the next prompt of its session.
      if (isTold || task.isSettling) return Effect.void
      isTold = true
      // If a run is resumed, what it had stored before the crash belongs to it.
      const started = task.row.time.started ?? now
      task.row = { ...task.row, state: "running", time: { ...task.row.time, started } }
      // Whichever of the two comes first, this or a promotion: the current state of the run is stored.
      const storing = Effect.suspend(() =>
        task.isSettling ? Effect.void : journal.commit([{ _tag: "Run", run: task.row }])
      )
      return Effect.asVoid(
        Effect.fork(Effect.catchAll(storing, logUnstored("The start of a task could not be stored")))
      )
    })
  }
  task.cancelTimeout = alarms.set(task.asked + task.timeout, () => {
    task.isLate = true
    start(task.begin)
  })
  // A loop that works already, for somebody who talks to the task, takes the prompt of the run: it asks for no slot.
  const begin = Effect.suspend(() =>
    Effect.zipRight(live.running === undefined ? Effect.void : news.granted, task.begin)
  )
  const { giveUp, position } = live.run.taskSlot(() => governor.slot(live.info.rootID, news)).first(
    () => start(begin),
    news
  )
  task.giveUp = giveUp
  if (position > 0) yield* queued(position)
})

/** Queues a run after the earlier ones of the same task. */
export const lineUp = (task: RunningTask): Effect.Effect<void, never, LineServices> =>
  Effect.suspend(() => {
    if (task.hasBegun) return Effect.void
    return task.live.tasks.lineUp(task) === 1 ? approach(task) : Effect.void
  })

/** Removes a settled run from the queue: the next one has its turn. */
export const stepOut = (task: RunningTask): Effect.Effect<void, never, LineServices> =>
  Effect.suspend(() => {
    const { tasks } = task.live
    const at = tasks.stepOut(task)
    const [next] = tasks.line
    return at === 0 && next !== undefined && !next.hasBegun ? approach(next) : Effect.void
  })

/** What the way to a slot needs. */
export type LineServices = Effect.Effect.Context<ReturnType<typeof approach>>
