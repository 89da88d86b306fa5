/** Stops what goes on in a session and in everything below it. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { endTasks } from "./endTasks.ts"
import type { Live } from "./live.ts"
import { SessionTable } from "./SessionTable.ts"

/** Stops a session and all below it, all told before any is awaited. */
export const halt: (live: Live) => Effect.Effect<void, never, SessionTable> = Effect.fnUntraced(function*(live) {
  const table = yield* SessionTable
  const { running } = live
  live.halts++
  if (running !== undefined) running.halted = true
  const fiber = running === undefined ? undefined : yield* Deferred.await(running.fiber)
  if (fiber !== undefined) yield* Fiber.interruptFork(fiber)
  const beside = [...live.beside]
  for (const each of beside) yield* Fiber.interruptFork(each)
  yield* Effect.forEach(table.below(live.info.id), stop, { concurrency: "unbounded", discard: true })
  for (const each of beside) yield* Fiber.await(each)
  if (fiber !== undefined) yield* Fiber.await(fiber)
  yield* endTasks(live)
})

/** The same, and what was asked of it before does not begin any more either. */
export const stop = (live: Live): Effect.Effect<void, never, SessionTable> =>
  Effect.suspend(() => {
    live.stops++
    return halt(live)
  })
