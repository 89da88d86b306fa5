/** Reads for many callers with few statements: callers that ask while reads are under way share the next read. */
import type { StorageError } from "@skein/core/StorageError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Scope from "effect/Scope"

/** How many reads are under way at once: a slow one must not hold up all others. */
const most = 3

/** What is to be read next, and who waits for it. */
interface Batch<Key, Value> {
  readonly keys: Set<Key>
  readonly found: Deferred.Deferred<ReadonlyMap<Key, Value>, StorageError>
}

/** Makes a function that reads one of what another function reads many of. */
export type Together = <Key, Value>(
  readAll: (keys: ReadonlyArray<Key>) => Effect.Effect<ReadonlyMap<Key, Value>, StorageError>
) => (key: Key) => Effect.Effect<Value | undefined, StorageError>

/** Each caller reads for itself. */
export const alone: Together = (readAll) => (key) => Effect.map(readAll([key]), (all) => all.get(key))

/** Callers share reads, until the scope closes. A read always begins after it was asked for. */
export const makeTogether: Effect.Effect<Together, never, Scope.Scope> = Effect.map(
  Effect.scope,
  (scope) =>
  <Key, Value>(
    readAll: (keys: ReadonlyArray<Key>) => Effect.Effect<ReadonlyMap<Key, Value>, StorageError>
  ) => {
    let next: Batch<Key, Value> | undefined
    let underWay = 0

    const readOn: Effect.Effect<void> = Effect.suspend(() => {
      const batch = next
      next = undefined
      if (batch === undefined) {
        underWay--
        return Effect.void
      }
      return Effect.flatMap(Effect.exit(readAll([...batch.keys])), (exit) => {
        Deferred.unsafeDone(batch.found, exit)
        return readOn
      })
    })

    // A read that is counted has to begin and to end, whatever happens to its first caller: others may share it, and no more
    // than `most` are counted.
    const begin = Effect.uninterruptible(
      Effect.suspend(() => {
        if (underWay >= most) return Effect.void
        underWay++
        return Effect.asVoid(Effect.forkIn(readOn, scope))
      })
    )

    return (key: Key) =>
      Effect.suspend(() => {
        next ??= { keys: new Set(), found: Deferred.unsafeMake(FiberId.none) }
        next.keys.add(key)
        const { found } = next
        return Effect.zipRight(begin, Effect.map(Deferred.await(found), (all) => all.get(key)))
      })
  }
)
