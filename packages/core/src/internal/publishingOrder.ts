/** Owns the order in which stored commits publish: those of a tree one after the other, as they were stored. */
import type { SessionID } from "@skein/domain/Id"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { none as noFiber } from "effect/FiberId"

/** The place of a stored commit in the order. */
interface Place {
  /** Waits until all earlier commits of its trees have published; undefined if they have. */
  readonly turn: Effect.Effect<void> | undefined
  /** Lets the next commit publish. Every place must be left, even if nothing was published. */
  readonly leave: () => void
}

/** Makes the function that gives a commit its place; call it in the order in which commits are stored. */
export const makePublishingOrder = () => {
  /** The last commit of each tree that has a place. */
  const last = new Map<SessionID, Deferred.Deferred<void>>()

  return (rootIDs: ReadonlySet<SessionID>): Place => {
    const published = Deferred.unsafeMake<void>(noFiber)
    const earlier: Array<Deferred.Deferred<void>> = []
    for (const rootID of rootIDs) {
      const before = last.get(rootID)
      if (before !== undefined) earlier.push(before)
      last.set(rootID, published)
    }
    return {
      turn: earlier.length === 0 ? undefined : Effect.forEach(earlier, Deferred.await, { discard: true }),
      leave: () => {
        for (const rootID of rootIDs) if (last.get(rootID) === published) last.delete(rootID)
        Deferred.unsafeDone(published, Exit.void)
      }
    }
  }
}
