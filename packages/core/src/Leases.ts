/** Owns which trees of sessions this process holds: only who holds a tree changes it, and only one at a time does. */
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { makeLeases } from "./internal/leases/makeLeases.ts"
import type { Owner } from "./Owner.ts"
import { SessionStorage } from "./SessionStorage.ts"
import type { StorageError } from "./StorageError.ts"
import type { Hold } from "./Write.ts"

/** The trees that this process holds. */
export class Leases extends Context.Tag("@skein/core/Leases")<Leases, {
  /** Says to which tree a session in memory belongs: from now on it is changed only while the tree is held. */
  readonly note: (id: SessionID, rootID: SessionID) => void
  /** A session is no longer in memory. */
  readonly forget: (id: SessionID) => void
  /**
   * Runs an effect while this process holds a tree. Waits for a holder that is about to let go. Fails with reason `held` while
   * another process works in the tree.
   */
  readonly hold: <A, E, R>(rootID: SessionID, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | StorageError, R>
  /** Whether what is in memory of a tree is how it stands: it is held, or nobody else held it since. */
  readonly isFresh: (rootID: SessionID) => Effect.Effect<boolean, StorageError>
  /** Takes hold of a new tree with the commit that begins it. */
  readonly begin: <E>(
    rootID: SessionID,
    store: (hold: Hold) => Effect.Effect<void, E>
  ) => Effect.Effect<void, E>
  /** Keeps a held tree in use until you call the function that it returns. It is called by observers of fibers. */
  readonly use: (rootID: SessionID) => () => void
  /** How often the tree was taken hold of, this time included; 0 where it is not held. */
  readonly epoch: (rootID: SessionID) => number
  /** Sees to it that a tree is held for certain at this moment: only then may something begin that cannot be undone. */
  readonly renew: (rootID: SessionID) => Effect.Effect<void, StorageError>
  /** Ends what runs of a tree here and lets go of it, storing nothing more: the next holder goes on as after a crash. */
  readonly leave: (rootID: SessionID) => Effect.Effect<void>
  /** Calls it whenever what is in memory of a tree is out of date: another holds it, or has held it meanwhile. */
  readonly onStale: (forget: (rootID: SessionID) => Effect.Effect<void>) => void
  /** Calls it whenever a tree was let go because nothing goes on in it. Nobody takes hold of it again before that has ended. */
  readonly onRest: (rest: (rootID: SessionID) => Effect.Effect<void>) => void
}>() {
  /** Leases on a storage, and that storage as it is for who holds leases: what others hold is not changed through it. */
  static readonly layer: Layer.Layer<Leases | SessionStorage, never, SessionStorage | Owner> = Layer.scopedContext(
    Effect.map(
      makeLeases(),
      ({ leases, storage }) => Context.make(Leases, leases).pipe(Context.add(SessionStorage, storage))
    )
  )
}
