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

    return (key: Key) =>
      Effect.suspend(() => {
        next ??= { keys: new Set(), found: Deferred.unsafeMake(FiberId.none) }
        next.keys.add(key)
        const found = Effect.map(Deferred.await(next.found), (all) => all.get(key))
        if (underWay >= most) return found
        underWay++
        // Others may share it, so it ends even if its first caller does not wait for it.
        return Effect.zipRight(Effect.forkIn(Effect.uninterruptible(readOn), scope), found)
      })
  }
)
