/** The way of a run from the moment in which it was asked for to its slot: until then it is data, and no fiber waits for it. */
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

/** Asks for the slot of a run whose turn has come; with the slot, or once its time is over, the run begins. */
const approach = Effect.fnUntraced(function*(task: RunningTask) {
  const governor = yield* Governor
  const journal = yield* Journal
  const alarms = yield* Alarms
  const runtime = yield* Effect.runtime<never>()
  const { live } = task
  const start = () => void Runtime.runFork(runtime)(task.begin, { immediate: false })
  const context = yield* Effect.context<Effect.Effect.Context<ReturnType<typeof setStatus>>>()
  const queued = (position: number) => Effect.provide(setStatus(live, { type: "queued", position }), context)
  // Whoever ended it meanwhile let it begin: it settles without a slot.
  if (task.hasBegun) return
  task.asked = live.clock.now()
  const { settings: { limits: { concurrency: most } } } = yield* inProject(live, Config)
  if (task.hasBegun) return
  live.run.useSlot(governor.slot(live.info.rootID, {
    most,
    queued,
    // Nobody waits for this to be stored: what the run stores next comes after it.
    granted: Effect.flatMap(Clock.currentTimeMillis, (now) => {
      // Where a run goes on, what it had stored before it died is its own.
      const started = task.row.time.started ?? now
      task.row = { ...task.row, state: "running", time: { ...task.row.time, started } }
      // Which of the two comes first, this or a promotion, what is stored is how the run stands by then.
      const storing = Effect.suspend(() => journal.commit([{ _tag: "Run", run: task.row }]))
      return Effect.asVoid(
        Effect.fork(Effect.catchAll(storing, logUnstored("The start of a task could not be stored")))
      )
    })
  }))
  task.cancelTimeout = alarms.set(task.asked + task.timeout, () => {
    task.isLate = true
    start()
  })
  const { giveUp, position } = live.run.slot.first(start)
  task.giveUp = giveUp
  if (position > 0) yield* queued(position)
})

/** Puts a run behind the earlier ones of the same task. */
export const lineUp = (task: RunningTask): Effect.Effect<void, never, LineServices> =>
  Effect.suspend(() => {
    if (task.hasBegun) return Effect.void
    return task.live.tasks.lineUp(task) === 1 ? approach(task) : Effect.void
  })

/** Takes a run that has settled out of the line: the next one has its turn. */
export const stepOut = (task: RunningTask): Effect.Effect<void, never, LineServices> =>
  Effect.suspend(() => {
    const { tasks } = task.live
    const at = tasks.stepOut(task)
    const [next] = tasks.line
    return at === 0 && next !== undefined && !next.hasBegun ? approach(next) : Effect.void
  })

/** What the way to a slot needs. */
export type LineServices = Effect.Effect.Context<ReturnType<typeof approach>>
