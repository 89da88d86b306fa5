/** Stops what goes on in a session and in everything below it. */
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { FiberId } from "effect/FiberId"
import type { Journal } from "../../Journal.ts"
import { beginTasks, endTasks } from "./endTasks.ts"
import type { Live } from "./live.ts"
import { recordStop } from "./recordStop.ts"
import { SessionTable } from "./SessionTable.ts"

type Table = Context.Tag.Service<SessionTable>

/** A session that was told to stop, and what ran for it then: what begins later is another matter. */
interface Told {
  readonly live: Live
  readonly fibers: ReadonlyArray<Fiber.Fiber<unknown, unknown>>
}

/** From here on what comes is not of what is being stopped. */
const mark = (live: Live): void => {
  live.halts++
  if (live.running !== undefined) live.running.halted = true
}

/** Tells all that runs for a session and for those below it; nothing is waited for. */
const tell: (live: Live, table: Table, by: FiberId, told: Array<Told>) => Effect.Effect<void> = Effect.fnUntraced(
  function*(live, table, by, told) {
    const { running } = live
    mark(live)
    const fibers = [...live.beside, ...(running === undefined ? [] : [yield* Deferred.await(running.fiber)])]
    for (const fiber of fibers) yield* Fiber.interruptAsFork(fiber, by)
    for (const child of table.below(live.info.id)) {
      child.stops++
      yield* tell(child, table, by, told)
    }
    yield* beginTasks(live)
    told.push({ live, fibers })
  }
)

/** Stops a session and all below it, all told before any is awaited. */
export const halt = (live: Live): Effect.Effect<void, never, Journal | SessionTable> =>
  Effect.gen(function*() {
    const table = yield* SessionTable
    mark(live)
    yield* recordStop(live)
    const told: Array<Told> = []
    yield* tell(live, table, yield* Effect.fiberId, told)
    for (const { fibers } of told) for (const fiber of fibers) yield* Fiber.await(fiber)
    for (const each of told) yield* endTasks(each.live)
  })

/** The same, and what was asked of it before does not begin any more either. */
export const stop = (live: Live): Effect.Effect<void, never, Journal | SessionTable> =>
  Effect.suspend(() => {
    live.stops++
    return halt(live)
  })
