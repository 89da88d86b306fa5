/**
 * Ends connections on which no answer arrives for too long. Packets can be lost without an error, and then the operating system
 * waits for a quarter of an hour.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"

/** A connection. */
export interface Wire {
  /** How much has come so far. */
  readonly bytesRead: number
  /** Whether it has ended. */
  readonly destroyed: boolean
  readonly destroy: (error: Error) => unknown
}

/** Runs an effect that asks the other end of a connection. */
export type Heard = (wire: Wire) => <A, E, R>(asking: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

interface Watched {
  /** How many effects wait for an answer. */
  asking: number
  /** How many looks in a row found nothing new. */
  quiet: number
  read: number
  isWatched: boolean
}

/**
 * A connection is silent after this many looks in a row that find nothing new. One would be too few: a process that was frozen
 * looks once when it wakes up, before it reads what has arrived.
 */
const looks = 4

const silent = (patience: Duration.Duration): Error =>
  Object.assign(new Error(`nothing came for ${Duration.format(patience)}`), { code: "ETIMEDOUT" })

/** Watches the connections to one place, until the scope closes. If one is silent, those that nobody uses end as well. */
export const makeSilence = (patience: Duration.DurationInput): Effect.Effect<Heard, never, Scope.Scope> =>
  Effect.gen(function*() {
    const run = yield* FiberSet.makeRuntime<never>()
    const most = Duration.decode(patience)
    const all = new Map<Wire, Watched>()

    const watch = (wire: Wire, watched: Watched): Effect.Effect<void> =>
      Effect.zipRight(
        Effect.sleep(Duration.times(most, 1 / looks)),
        Effect.suspend(() => {
          if (watched.asking === 0) {
            watched.isWatched = false
            return Effect.void
          }
          watched.quiet = wire.bytesRead === watched.read ? watched.quiet + 1 : 0
          watched.read = wire.bytesRead
          if (watched.quiet < looks) return watch(wire, watched)
          wire.destroy(silent(most))
          for (const [other, { asking }] of all) if (asking === 0) other.destroy(silent(most))
          return Effect.void
        })
      )

    const watchedOf = (wire: Wire): Watched => {
      const known = all.get(wire)
      if (known !== undefined) return known
      for (const each of all.keys()) if (each.destroyed) all.delete(each)
      const made = { asking: 0, quiet: 0, read: 0, isWatched: false }
      all.set(wire, made)
      return made
    }

    const begin = (wire: Wire): Watched => {
      const watched = watchedOf(wire)
      watched.asking++
      watched.quiet = 0
      watched.read = wire.bytesRead
      if (!watched.isWatched) {
        watched.isWatched = true
        // It is made where nothing is interrupted, and must not hold up the end.
        run(Effect.interruptible(watch(wire, watched)))
      }
      return watched
    }

    return (wire) => (asking) =>
      Effect.acquireUseRelease(
        Effect.sync(() => begin(wire)),
        () => asking,
        (watched) => Effect.sync(() => void watched.asking--)
      )
  })
