/** Primitives of our own, where those of Effect do not do: each says why. */
import * as Cache from "effect/Cache"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { none as noFiber } from "effect/FiberId"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { elapsed, now } from "./MonotonicClock.ts"

/** Makes an effect interruptible again, if its caller is. */
export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Permits for any number of callers, which get them in the order in which they ask. For each permit that is released, Effect's
 * semaphore wakes every waiting caller: for a thousand, that is a million times.
 */
export class FairSemaphore {
  #free: number
  readonly #waiting = new Set<Deferred.Deferred<void>>()

  constructor(permits: number) {
    this.#free = permits
  }

  /** Runs an effect with a permit. */
  readonly withPermit = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.zipRight(this.take(restore), Effect.ensuring(restore(effect), this.release))
    )

  /**
   * Takes a permit, which has to be released. For a region that cannot be interrupted: `restore` makes the waiting
   * interruptible. A permit that is granted in the moment of an interruption goes to the next caller.
   */
  readonly take = (restore: Restore): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (this.#free > 0) {
        this.#free--
        return Effect.void
      }
      const granted = Deferred.unsafeMake<void>(noFiber)
      this.#waiting.add(granted)
      return Effect.onInterrupt(
        restore(Deferred.await(granted)),
        () => this.#waiting.delete(granted) ? Effect.void : this.release
      )
    })

  /** Releases a permit. */
  readonly release: Effect.Effect<void> = Effect.sync(() => {
    for (const next of this.#waiting) {
      this.#waiting.delete(next)
      Deferred.unsafeDone(next, Exit.void)
      return
    }
    this.#free++
  })
}

/**
 * Runs an effect. If its caller is interrupted, so is the effect, but the caller does not wait for its end: a statement keeps a
 * connection until it ends. `Effect.disconnect` does that too, but nothing waits for the fibers that it leaves.
 */
export type Leaving = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>

/** Makes it. What was left ends before the scope closes. */
export const makeLeaving: Effect.Effect<Leaving, never, Scope.Scope> = Effect.map(
  Effect.scope,
  (scope) => (effect) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        // The caller gets its errors.
        Effect.withUnhandledErrorLogLevel(Effect.forkIn(restore(effect), scope), Option.none()),
        (fiber) =>
          Effect.onInterrupt(
            restore(Fiber.join(fiber)),
            () => Effect.fiberIdWith((id) => Fiber.interruptAsFork(fiber, id))
          )
      )
    )
)

/** A cached value, and when it was looked up, in milliseconds of `MonotonicClock.now`. */
interface Entry<A> {
  readonly value: A
  readonly at: number
}

/**
 * Makes a cache of at most `capacity` keys. It looks a key up again once its value is `timeToLive` milliseconds old;
 * concurrent callers share one lookup.
 */
export const makeTimedCache = <Key, A, R>({ capacity, lookup, timeToLive }: {
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
    (cache) => {
      // To read the cache itself takes Effect some twenty operations.
      const known = new Map<Key, Entry<A>>()
      return (key) =>
        Effect.clockWith((clock) => {
          const before = known.get(key)
          if (before !== undefined && elapsed(clock) - before.at < timeToLive) return Effect.succeed(before.value)
          const isOld = ({ at }: Entry<A>) => elapsed(clock) - at >= timeToLive
          return Effect.map(Effect.zipRight(cache.invalidateWhen(key, isOld), cache.get(key)), (found) => {
            if (known.size >= capacity) known.clear()
            known.set(key, found)
            return found.value
          })
        })
    }
  )

/** What `pieces` needs of a readable stream of Node, which core does not know. */
export interface ReadableBytes<Bytes> {
  readonly read: () => Bytes | null
  readonly on: (event: string, listener: () => void) => unknown
  readonly readableEnded: boolean
  readonly destroyed: boolean
}

/**
 * The next piece of a stream; none at its end. One reader at a time. What nobody asks for stays in the pipe, so that its writer
 * waits: a stream of Effect would read ahead.
 */
export const pieces = <Bytes>(stream: ReadableBytes<Bytes>): Effect.Effect<Option.Option<NonNullable<Bytes>>> => {
  let waiting = () => {}
  // Keep these listeners: once a child has ended, Node drops data without a listener.
  for (const event of ["readable", "end", "error", "close"]) stream.on(event, () => waiting())
  return Effect.async((resume) => {
    const read = () => {
      const bytes = stream.read()
      if (bytes === null && !stream.readableEnded && !stream.destroyed) return
      waiting = () => {}
      resume(Effect.succeed(Option.fromNullable(bytes)))
    }
    waiting = read
    read()
    return Effect.sync(() => {
      waiting = () => {}
    })
  })
}
