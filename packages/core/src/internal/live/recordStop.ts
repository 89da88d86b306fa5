/** Stores that a session is stopped before anything stops, so that nothing resumes after a crash in the middle. */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { Journal } from "../../Journal.ts"
import { logUnstored } from "../../StorageError.ts"
import type { Entry } from "../../Write.ts"
import type { Live } from "./Live.ts"
import { SessionTable } from "./SessionTable.ts"

/** How long storing may delay a stop. */
const timeLimit = "500 millis"

/** Stores something before a stop, but does not wait long for slow storage. */
export const storeFirst = (live: Live, writes: ReadonlyArray<Entry>): Effect.Effect<void, never, Journal> =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const storing = Effect.catchAll(journal.commit(writes), logUnstored("A stop could not be stored"))
    // The stopping fiber may be interrupted itself, and then cannot time out on its own.
    const over = yield* Deferred.make<void>()
    const end = () => Deferred.unsafeDone(over, Exit.void)
    const fiber = yield* Effect.forkIn(storing, live.scope)
    const timer = yield* Effect.forkIn(Effect.interruptible(Effect.sleep(timeLimit)), live.scope)
    fiber.addObserver(end)
    timer.addObserver(end)
    yield* Deferred.await(over)
    yield* Fiber.interruptFork(timer)
  })

const isAtWork = ({ running, tasks }: Live): boolean => running !== undefined || tasks.size > 0

const isStoppedAbove = ({ parent }: Live): boolean =>
  parent !== undefined
  && ((parent.running !== undefined && parent.info.turn?.ended?.how === "stopped") || isStoppedAbove(parent))

/** Stores it if there is something to stop, once for a tree: everything below is included. */
export const recordStop = (
  live: Live,
  also: ReadonlyArray<Entry> = []
): Effect.Effect<void, never, Journal | SessionTable> =>
  Effect.gen(function*() {
    const table = yield* SessionTable
    const some = (each: Live, is: (live: Live) => boolean): boolean =>
      is(each) || table.below(each.info.id).some((child) => some(child, is))
    if (isStoppedAbove(live)) return
    if (some(live, isAtWork)) return yield* storeStop(live, also)
    // A prompt that is being stored has no loop yet.
    if (some(live, ({ run }) => run.isSubmitting)) {
      yield* storeFirst(live, [live.record.annotate(live.record.stopped), ...also])
    }
  })

/** Stores that a session is stopped, with everything below it. */
export const storeStop = (live: Live, also: ReadonlyArray<Entry> = []): Effect.Effect<void, never, Journal> =>
  Effect.gen(function*() {
    const at = yield* Clock.currentTimeMillis
    // A session without a prompt may have tasks of a program.
    const turn = live.info.turn ?? { began: at }
    yield* storeFirst(live, [
      live.record.change(at, {
        ...live.record.stopped,
        turn: { ...turn, ended: { at, how: "stopped", unclosed: true } }
      }),
      ...also
    ])
  })
