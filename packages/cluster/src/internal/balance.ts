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
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Member } from "./entries.ts"
import type { Asked, Peers } from "./exchange.ts"
import type { Place } from "./places.ts"
import type { TakeUp } from "./takeovers.ts"

/** How many agents could work at a runner, and how many may. */
interface Burden {
  readonly wanted: number
  readonly limit: number
}

/** Another runner. */
interface Other extends Burden {
  readonly url: string
}

/** A tree at this runner, and how many of its agents could work. */
export interface Movable {
  readonly rootID: SessionID
  readonly slots: number
}

/** A tree, and where it goes. */
interface Move extends Movable {
  readonly url: string
}

/** How many times as busy as the other one a runner must be, in proportion to their limits. */
const clear = 2

/** How long the imbalance must last before a tree moves, in milliseconds. */
const settling = 3_000

/** How long a tree stays after it has moved, or could not be moved, in milliseconds. */
const treeRest = 30_000

/** How long a runner is not asked after it has refused, or did not answer, in milliseconds. */
const runnerRest = 10_000

/**
 * The move that relieves a runner whose agents wait because of its own limit: of the runners that are clearly less busy, the
 * one with most room, and the largest tree for which that has room. So no runner gets agents that have to wait there.
 */
export const bestMove = (
  own: Burden,
  trees: ReadonlyArray<Movable>,
  others: ReadonlyArray<Other>
): Move | undefined => {
  if (own.wanted <= own.limit) return undefined
  const room = ({ limit, wanted }: Burden) => limit - wanted
  const isClear = ({ limit, wanted }: Burden) => own.wanted * limit > clear * wanted * own.limit
  const targets = others.filter((other) => room(other) > 0 && isClear(other)).toSorted((a, b) => room(b) - room(a))
  const [target] = targets
  if (target === undefined) return undefined
  const [tree] = trees.filter(({ slots }) => slots > 0 && slots <= room(target)).toSorted((a, b) => b.slots - a.slots)
  return tree === undefined ? undefined : { ...tree, url: target.url }
}

/** What one runner has decided, and what it waits for. Times are milliseconds of any clock that only moves forward. */
export class MoveDecision {
  /** Since when a tree should move. */
  #since: number | undefined
  readonly #trees = new Map<SessionID, number>()
  readonly #runners = new Map<string, number>()

  /** A tree has arrived from another runner, or could not leave: it stays for a while. */
  rest(rootID: SessionID, now: number): void {
    this.#trees.set(rootID, now + treeRest)
  }

  /** A runner took nothing: it is left alone for a while. */
  leaveAlone(url: string, now: number): void {
    this.#runners.set(url, now + runnerRest)
  }

  /** The tree that moves now, if one should have for some seconds. After that, the next one takes as long. */
  next(
    now: number,
    own: Burden,
    trees: ReadonlyArray<Movable>,
    others: ReadonlyArray<Other>
  ): Move | undefined {
    for (const [rootID, until] of this.#trees) if (until <= now) this.#trees.delete(rootID)
    for (const [url, until] of this.#runners) if (until <= now) this.#runners.delete(url)
    const move = bestMove(
      own,
      trees.filter(({ rootID }) => !this.#trees.has(rootID)),
      others.filter(({ url }) => !this.#runners.has(url))
    )
    this.#since = move === undefined ? undefined : this.#since ?? now
    if (this.#since === undefined || now - this.#since < settling) return undefined
    this.#since = undefined
    return move
  }
}

/** How long slots are kept for a tree that may come, in milliseconds: a little longer than it may take. */
const keeping = 20_000

/** Makes them; `arrived` is called for a tree that comes now. */
export const makeArrivals = ({ arrived, placeOf, takes, takeUp }: {
  readonly placeOf: (rootID: SessionID) => Effect.Effect<Place, StorageError>
  readonly takeUp: TakeUp
  /** Whether this runner takes any tree. */
  readonly takes: boolean
  readonly arrived: (rootID: SessionID, now: number) => void
}) =>
  Effect.map(Governor, (governor) => {
    const kept = new Map<SessionID, { readonly slots: number; readonly until: number }>()

    /** The slots of this runner, of which those that are kept are taken. */
    const burden = Effect.zipWith(currentTime, governor.load, (now, { limit, wanted }) => {
      for (const [rootID, { until }] of kept) if (until <= now) kept.delete(rootID)
      return { limit, wanted: wanted + [...kept.values()].reduce((sum, { slots }) => sum + slots, 0) }
    })
    const room = Effect.map(burden, ({ limit, wanted }) => limit - wanted)

    const mayCome = (rootID: SessionID): Effect.Effect<boolean, StorageError> =>
      takes ? Effect.map(placeOf(rootID), ({ _tag }) => _tag === "Here") : Effect.succeed(false)

    /** Keeps slots for a tree that may come, if there is room. */
    const accept = (rootID: SessionID, slots: number) =>
      Effect.gen(function*() {
        if (!(yield* mayCome(rootID))) return undefined
        // From here on in one step: two trees must not get the same slots.
        if ((yield* room) < slots) return undefined
        kept.set(rootID, { slots, until: (yield* currentTime) + keeping })
        return {}
      })

    /** Takes a tree up for which slots are kept. */
    const take = (rootID: SessionID) =>
      Effect.gen(function*() {
        if (!kept.has(rootID)) return undefined
        arrived(rootID, yield* currentTime)
        const taking = Effect.flatMap(Clock.currentTimeMillis, (now) => takeUp(rootID, now))
        return yield* taking.pipe(
          Effect.as({}),
          Effect.orElseSucceed(() => undefined),
          Effect.ensuring(Effect.sync(() => kept.delete(rootID)))
        )
      })

    return {
      burden,
      /** How many more agents can work here. */
      room,
      /** Does what another runner asks; undefined if this one refuses. */
      answer: (asked: Asked): Effect.Effect<object | undefined, StorageError> => {
        switch (asked._tag) {
          case "Room":
            return Effect.zipWith(mayCome(asked.rootID), room, (may, free) => ({ may, room: free }))
          case "Offer":
            return accept(asked.rootID, asked.slots)
          case "Take":
            return take(asked.rootID)
        }
      }
    }
  })

/** How often to look. */
const pace = "1 second"

/** How long a tree may take to come to rest, in milliseconds. */
const patience = 10_000

/** How long a tree that has left is not touched here, in milliseconds, if its next runner says nothing. */
const leaving = 10_000

/** What runners say of themselves in the table of runners. */
const decode = Schema.decodeUnknownOption(
  Schema.parseJson(Schema.Struct({ wanted: Schema.Number, limit: Schema.Number }))
)

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
