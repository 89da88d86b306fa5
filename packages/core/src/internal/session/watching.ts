/** The events of a session as streams: of one turn, and of its whole tree from any place of the log on. */
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { Bus, type BusFilter } from "../../Bus.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import type { PromptError, Turn, TurnEvent } from "../../Turn.ts"
import { SessionTable } from "../live/SessionTable.ts"

/** How many events may wait for a reader before the agents wait for it, too. */
const most = 4_096

/** How long nothing comes before the log is read for what other processes have stored. */
const pause = "1 second"

/** The events of the bus from now on. Agents wait for a reader who lags far behind; what they do not wait with may be lost. */
const heard = Effect.fnUntraced(function*<A>(filter: BusFilter) {
  const bus = yield* Bus
  const queue = yield* Effect.acquireRelease(Queue.sliding<Event | A>(2 * most), Queue.shutdown)
  const room = yield* Effect.acquireRelease(Effect.makeLatch(true), (latch) => latch.open)
  const isFull = () => Option.getOrElse(queue.unsafeSize(), () => 0) >= most
  yield* bus.listen(filter, (event) => {
    queue.unsafeOffer(event)
    if (isFull()) room.unsafeClose()
  }, { isFull, relieved: room.await })
  return { queue, relieve: Effect.suspend(() => isFull() ? Effect.void : room.open) }
})

/** A turn while it happens: what the session and everything below it do, and last how it ended. */
export const turnEvents = (rootID: SessionID, prompt: Effect.Effect<Turn, PromptError>) =>
  Stream.unwrapScoped(Effect.gen(function*() {
    const { queue, relieve } = yield* heard<Effect.Effect<TurnEvent, PromptError>>({ rootID })
    // A reader who leaves stops the turn.
    yield* Effect.forkScoped(
      Effect.flatMap(
        Effect.exit(prompt),
        (exit) => queue.offer(Effect.map(exit, (turn) => ({ type: "turn.ended", turn })))
      )
    )
    return Stream.fromQueue(queue).pipe(
      Stream.tap(() => relieve),
      Stream.mapEffect((item) => Effect.isEffect(item) ? item : Effect.succeed<TurnEvent>(item)),
      Stream.takeUntil(({ type }) => type === "turn.ended")
    )
  }))

/** The stored events of a tree after a place, page by page until there are no more. */
const stored = (rootID: SessionID, from: number) =>
  Stream.paginateChunkEffect(
    from,
    (after) =>
      Effect.map(Effect.flatMap(SessionStorage, (storage) => storage.events({ rootID, after, limit: 500 })), (rows) => {
        const last = rows.at(-1)
        const events = rows.map(({ event, seq }): Event => ({ ...event, seq }))
        return [Chunk.fromIterable(events), last === undefined ? Option.none() : Option.some(last.seq)] as const
      })
  )

/**
 * All events of the tree of a session: what is stored after `after`, then what happens, without a gap. Events that are not
 * stored, such as pieces of growing text, come only while they happen.
 */
export const treeEvents = (id: SessionID, after: number) =>
  Stream.unwrapScoped(Effect.gen(function*() {
    const { rootID } = (yield* (yield* SessionTable).open(id)).info
    const { queue, relieve } = yield* heard<never>({ rootID })
    let position = after
    const rest = Stream.suspend(() => stored(rootID, position)).pipe(
      Stream.tap(({ seq = position }) => Effect.sync(() => void (position = seq)))
    )
    const next = Queue.take(queue).pipe(
      Effect.timeoutOption(pause),
      Effect.zipLeft(relieve),
      Effect.map(Option.match({
        onNone: () => rest,
        onSome: (event) => {
          if (event.seq === undefined) return Stream.succeed(event)
          if (event.seq <= position) return Stream.empty
          if (event.seq > position + 1) return rest
          position = event.seq
          return Stream.succeed(event)
        }
      }))
    )
    return Stream.concat(rest, Stream.flatten(Stream.repeatEffect(next)))
  }))
