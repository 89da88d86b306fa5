/** A read-write lock for a connection: many readers, or one writer inside its transaction. */
import * as Effect from "effect/Effect"

/** Serialises the use of one connection. */
export interface ReadWriteLock {
  /** Runs while no transaction is open, so that nothing is read before it is committed. */
  readonly read: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Runs while nobody reads and nobody else writes. The caller must not be interruptible. */
  readonly write: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Makes the lock from two latches. The client's own semaphore makes every taker wait for the scheduler, which costs ten
 * times as much as the statement itself; an open latch costs nothing.
 */
export const makeReadWriteLock: Effect.Effect<ReadWriteLock> = Effect.gen(function*() {
  const noWriter = yield* Effect.makeLatch(true)
  const noReader = yield* Effect.makeLatch(true)
  let writing = false
  let readers = 0

  // Only the waiting is interruptible: an acquired lock must be released.
  const beginRead = (restore: Restore): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (writing) return Effect.zipRight(restore(noWriter.await), beginRead(restore))
      readers += 1
      noReader.unsafeClose()
      return Effect.void
    })
  const endRead = Effect.sync(() => {
    readers -= 1
    if (readers === 0) noReader.unsafeOpen()
  })
  const endWrite = () => {
    writing = false
    noWriter.unsafeOpen()
  }
  const write = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      if (writing) return Effect.zipRight(noWriter.await, write(effect))
      if (readers > 0) return Effect.zipRight(noReader.await, write(effect))
      writing = true
      noWriter.unsafeClose()
      return Effect.matchCauseEffect(effect, {
        onFailure: (cause) => {
          endWrite()
          return Effect.failCause(cause)
        },
        onSuccess: (value) => {
          endWrite()
          return Effect.succeed(value)
        }
      })
    })

  return {
    read: (effect) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.zipRight(beginRead(restore), Effect.ensuring(restore(effect), endRead))
      ),
    write
  }
})
