/** Schedules fibers in an order that a seed decides, so that what is true of one run is tried in many. */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Scheduler from "effect/Scheduler"
import { PCGRandom } from "effect/Utils"

/** Runs an effect so that each fiber gives way after a random number of operations; `step` is called before every one. */
export const interleaved = (
  seed: number,
  options: { readonly chance?: number; readonly step?: (n: number) => void } = {}
) =>
<A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  const random = new PCGRandom(seed)
  const chance = options.chance ?? 0.1
  const inner = new Scheduler.MixedScheduler(2_048)
  let n = 0
  return Effect.withScheduler(
    effect,
    Scheduler.make((task, priority) => inner.scheduleTask(task, priority), (fiber) => {
      options.step?.(n++)
      return random.number() < chance ? 0 : inner.shouldYield(fiber)
    })
  ).pipe(Effect.withRandom(Random.make(seed)))
}
