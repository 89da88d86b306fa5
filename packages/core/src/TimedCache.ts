/** Owns how long a cached value lasts; setting the wall clock does not change it. */
import * as Cache from "effect/Cache"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { now } from "./MonotonicClock.ts"

/** A cached value, and when it was looked up, in milliseconds of `MonotonicClock.now`. */
interface Entry<A> {
  readonly value: A
  readonly at: number
}

/**
 * Makes a cache of at most `capacity` keys. It looks a key up again once its value is `timeToLive` milliseconds old;
 * concurrent callers share one lookup.
 */
export const make = <Key, A, R>({ capacity, lookup, timeToLive }: {
  readonly capacity: number
  readonly timeToLive: number
  readonly lookup: (key: Key) => Effect.Effect<A, never, R>
}): Effect.Effect<(key: Key) => Effect.Effect<A>, never, R> =>
  Effect.map(
    // Effect's own expiry depends on the wall clock.
    Cache.make({
      capacity,
      timeToLive: Duration.infinity,
      lookup: (key: Key) => Effect.zipWith(lookup(key), now, (value, at): Entry<A> => ({ value, at }))
    }),
    (cache) => (key) =>
      Effect.gen(function*() {
        const found = yield* cache.get(key)
        if ((yield* now) - found.at < timeToLive) return found.value
        // Another caller may have replaced it already.
        yield* cache.invalidateWhen(key, (entry) => entry === found)
        return (yield* cache.get(key)).value
      })
  )
