/** Queues runs for their slots, and owns their timeouts meanwhile. A queued run is data, without a fiber that waits. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import { Config } from "../../Config.ts"
import { Governor } from "../../Governor.ts"
import { Journal } from "../../Journal.ts"
import { logUnstored } from "../../StorageError.ts"
import { type Alarm, makeAlarms } from "../fibers.ts"
import { type RunningTask, tellStatus } from "../live/Live.ts"
import { inProject } from "../live/SessionTable.ts"
import { advance, hasBegun } from "../live/TaskList.ts"

/** Owns the alarms of runs, and the fibers that callbacks start for them. */
export class TaskQueue extends Context.Tag("@skein/core/internal/tasks/TaskQueue")<TaskQueue, {
  readonly alarm: Alarm
  readonly fibers: FiberSet.FiberSet
}>() {
  /** A queue whose fibers and alarms end with the layer. */
  static readonly layer = Layer.scoped(
    TaskQueue,
    Effect.zipWith(makeAlarms, FiberSet.make(), ({ set }, fibers) => ({ alarm: set, fibers }))
  )
}

/** Requests the slot of the first run of a task's queue. The run begins with its slot, or after its timeout. */
const requestSlot = Effect.fnUntraced(function*(task: RunningTask) {
  const governor = yield* Governor
  const journal = yield* Journal
  const { alarm, fibers } = yield* TaskQueue
  const fork = yield* FiberSet.runtime(fibers)<never>()
  const run = (effect: Effect.Effect<void>) => void fork(effect, { immediate: false })
  const { live } = task
  const queued = (position: number) =>
    Effect.map(Clock.currentTimeMillis, (now) => tellStatus(journal, live, { type: "queued", position }, now))
  // The run was ended meanwhile, and has begun in order to settle without a slot.
  if (hasBegun(task)) return
  task.asked = live.clock.now()
  const { settings: { limits: { concurrency: most } } } = yield* inProject(live, Config)
  if (hasBegun(task)) return
  const news = {
    most,
    queued,
    // Not awaited: the turn that takes the prompt of the run stores its start, if it comes first.
    granted: Effect.flatMap(Clock.currentTimeMillis, (now) => {
      // The slot of a run that settled without it goes to the next prompt of its session.
      if (!advance(task, "grant")) return Effect.void
      // A resumed run keeps its original start time, which is stored.
      const { started = now } = task.row.time
      if (task.row.time.started !== undefined) advance(task, "store")
      task.row = { ...task.row, state: "running", time: { ...task.row.time, started } }
      // Stores the current state, which a promotion may have changed meanwhile.
      const storing = Effect.suspend(() =>
        advance(task, "store") ? journal.commit([{ _tag: "Run", run: task.row }]) : Effect.void
      )
      return Effect.asVoid(
        Effect.fork(Effect.catchAll(storing, logUnstored("The start of a task could not be stored")))
      )
    })
  }
  task.cancelTimeout = alarm(task.asked + task.timeout, () => task.expire)
  // If a loop is already running for a message to the task, it takes the prompt of the run, and needs no slot.
  const begin = Effect.suspend(() =>
    live.running === undefined ? task.begin : Effect.zipRight(task.begin, news.granted)
  )
  const { giveUp, position } = live.run.taskSlot(() => governor.slot(live.info.rootID, news)).first(
    () => run(begin),
    news
  )
  task.giveUp = giveUp
  if (position > 0) yield* queued(position)
})

/** Queues a run after the earlier ones of the same task. */
export const queueRun = (task: RunningTask): Effect.Effect<void, never, QueueServices> =>
  Effect.suspend(() => {
    if (hasBegun(task)) return Effect.void
    return task.live.tasks.enqueue(task) === 1 ? requestSlot(task) : Effect.void
  })

/** Removes a settled run from the queue, and requests the slot of the next one. */
export const dequeueRun = (task: RunningTask): Effect.Effect<void, never, QueueServices> =>
  Effect.suspend(() => {
    const { tasks } = task.live
    const at = tasks.dequeue(task)
    const [next] = tasks.queue
    return at === 0 && next !== undefined && !hasBegun(next) ? requestSlot(next) : Effect.void
  })

/** The services for queueing runs. */
type QueueServices = Effect.Effect.Context<ReturnType<typeof requestSlot>>
