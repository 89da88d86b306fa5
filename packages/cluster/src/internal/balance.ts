/**
 * Moves trees that work here to runners with room, while agents wait because of the limit of this one. A tree moves between
 * two steps, after the other runner has kept slots for it.
 */
import { Governor } from "@skein/core/Governor"
import { currentLoad } from "@skein/core/Metrics"
import { now as currentTime } from "@skein/core/MonotonicClock"
import { Session } from "@skein/core/Session"
import type { StorageError } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { makeArrivals } from "./arrivals.ts"
import { bestMove, type Move, MoveDecision } from "./decideMove.ts"
import type { Member } from "./entries.ts"
import type { Peers } from "./peers.ts"
import type { Place } from "./places.ts"
import type { TakeUp } from "./takeUp.ts"

/** How often to look. */
const pace = "1 second"

/** How long a tree may take to come to rest, in milliseconds. */
const patience = 10_000

/** How long a tree that has left is not touched here, in milliseconds, if its next runner says nothing. */
const leaving = 10_000

/** What runners say of themselves in the table of runners. */
const Burden = Schema.Struct({ wanted: Schema.Number, limit: Schema.Number })

const decode = Schema.decodeUnknownOption(Schema.parseJson(Burden))

/** Makes what moves trees, and what takes those of others. */
export const makeBalance = ({ moves, others, peers, placeOf, takes, takeUp }: {
  /** Notes that a tree moves from here. */
  readonly moves: (rootID: SessionID) => Effect.Effect<void>
  readonly others: Effect.Effect<ReadonlyArray<Member>>
  readonly peers: Peers
  readonly placeOf: (rootID: SessionID) => Effect.Effect<Place, StorageError>
  readonly takeUp: TakeUp
  /** Whether this runner takes trees of others. */
  readonly takes: boolean
}) =>
  Effect.gen(function*() {
    const governor = yield* Governor
    const session = yield* Session
    const decision = new MoveDecision()
    const arrivals = yield* makeArrivals({
      placeOf,
      takeUp,
      takes,
      arrived: (rootID, now) => decision.rest(rootID, now)
    })
    /** The trees that come to rest here, and those that have left, until when. */
    const resting = new Set<SessionID>()
    const left = new Map<SessionID, number>()

    const attempt = ({ rootID, slots, url }: Move) =>
      Effect.gen(function*() {
        if (!(yield* peers.offer(url, rootID, slots))) {
          return decision.leaveAlone(url, yield* currentTime)
        }
        resting.add(rootID)
        yield* moves(rootID)
        const isLeft = yield* session.handOver(rootID, patience)
        const now = yield* currentTime
        decision.rest(rootID, now)
        if (!isLeft) return
        left.set(rootID, now + leaving)
        yield* Effect.logInfo(`${rootID} moves to ${url}: agents wait here`)
        // If it is not taken there, the look for trees that nobody holds finds it.
        yield* peers.take(url, rootID)
        left.delete(rootID)
      }).pipe(Effect.ensuring(Effect.sync(() => resting.delete(rootID))))

    const look = Effect.gen(function*() {
      const { limit, roots, wanted } = yield* governor.load
      const now = yield* currentTime
      const trees = [...roots].map(([rootID, slots]) => ({ rootID, slots }))
      const known = wanted <= limit ?
        [] :
        (yield* others).flatMap(({ load, url }) =>
          Option.match(decode(load), { onNone: () => [], onSome: (other) => [{ ...other, url }] })
        )
      const own = { limit, wanted }
      const isWorthwhile = bestMove(own, trees, known) !== undefined
      const movable = isWorthwhile ? yield* Effect.filter(trees, ({ rootID }) => session.isMovable(rootID)) : []
      const move = decision.next(now, own, movable, known)
      if (move !== undefined) yield* attempt(move)
    })

    return {
      /** Looks for ever. */
      run: Effect.forever(Effect.zipRight(Effect.sleep(pace), look)),
      /** How many more agents can work here. */
      room: arrivals.room,
      /** What this runner works on, for the table of runners. */
      load: Effect.map(arrivals.burden, (slots) => ({ ...currentLoad(), ...slots })),
      /** Does what another runner asks; undefined if this one refuses. */
      answer: arrivals.answer,
      /** Whether a tree comes to rest here so that it can leave, or has just left. */
      isMoving: (rootID: SessionID): boolean => resting.has(rootID) || left.has(rootID),
      /** Whether a tree has just left, and nobody is known to hold it yet. */
      hasLeft: (rootID: SessionID): Effect.Effect<boolean> =>
        Effect.map(currentTime, (now) => {
          const until = left.get(rootID) ?? 0
          if (until <= now) left.delete(rootID)
          return until > now
        })
    }
  })
