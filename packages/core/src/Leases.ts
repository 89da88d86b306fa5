/**
 * Owns which trees of sessions this process holds. Only the holder of a tree changes it, and there is only one at a
 * time.
 */
import type { SessionID } from "@skein/domain/Id"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { makeLeases } from "./internal/leases/makeLeases.ts"
import type { Owner } from "./Owner.ts"
import { SessionStorage } from "./SessionStorage.ts"
import type { StorageError } from "./StorageError.ts"
import { StorageHealth } from "./StorageHealth.ts"
import type { Machine } from "./Whereabouts.ts"
import type { Hold, Write } from "./Write.ts"

/** The trees that this process holds. */
export class Leases extends Context.Tag("@skein/core/Leases")<Leases, {
  /** The machine of this process, on which the directories of new trees are; undefined if it is not known. */
  readonly machine: Machine | undefined
  /** Assigns a session in memory to its tree. From now on it changes only while the tree is held. */
  readonly note: (id: SessionID, rootID: SessionID) => void
  /** The session has left memory. */
  readonly forget: (id: SessionID) => void
  /**
   * Runs an effect while this process holds a tree. Waits for a holder that is about to release it. Fails with reason
   * `held` while another process works in the tree.
   */
  readonly hold: <A, E, R>(rootID: SessionID, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | StorageError, R>
  /** Whether memory is up to date for a tree: it is held, or nobody else has held it since. */
  readonly isFresh: (rootID: SessionID) => Effect.Effect<boolean, StorageError>
  /** Acquires a new tree with the commit that creates it. */
  readonly begin: <E>(
    rootID: SessionID,
    store: (hold: Hold) => Effect.Effect<void, E>
  ) => Effect.Effect<void, E>
  /**
   * Removes sessions with the commit that deletes them: from now on nothing else of them is stored, unless that commit
   * fails. The first one is above the others.
   */
  readonly remove: <E>(
    ids: readonly [SessionID, ...ReadonlyArray<SessionID>],
    store: Effect.Effect<void, E>
  ) => Effect.Effect<void, E>
  /** Whether this process holds any tree. */
  readonly holdsAny: () => boolean
  /** Keeps a held tree in use until you call the returned function, which observers of fibers may call. */
  readonly use: (rootID: SessionID) => () => void
  /** Whether a held tree is in use. */
  readonly isUsed: (rootID: SessionID) => boolean
  /** Releases a held tree at once if it is not in use, and returns whether it did. Idle trees are released soon anyway. */
  readonly release: (rootID: SessionID) => Effect.Effect<boolean>
  /** The epoch of a held tree: how often it was acquired, including this time; 0 if it is not held. */
  readonly epoch: (rootID: SessionID) => number
  /**
   * Makes sure that a tree is held right now, and returns for how long at least, in milliseconds. Call it before
   * something that cannot be undone.
   */
  readonly renew: (rootID: SessionID) => Effect.Effect<number, StorageError>
  /**
   * Those of the trees that no process holds: they were released, their holder is dead, or their lease ran out while
   * it was watched. Ask every second for all of them: an expired lease has to stay the same for a while, because clocks may
   * have been set.
   */
  readonly due: (rootIDs: ReadonlyArray<SessionID>) => Effect.Effect<ReadonlyArray<SessionID>, StorageError>
  /** The process that holds a tree; undefined if none does, if it is this one, or if it has ended. */
  readonly other: (rootID: SessionID) => Effect.Effect<string | undefined, StorageError>
  /** The process that holds a tree, this one included; undefined if none does, or if it has ended. */
  readonly holder: (rootID: SessionID) => Effect.Effect<string | undefined, StorageError>
  /**
   * Acquires a tree that was due when you last asked, and returns whether it did: another process may have been faster, and is
   * not waited for. The tree is released soon unless you use it.
   */
  readonly claim: (rootID: SessionID) => Effect.Effect<boolean, StorageError>
  /**
   * Ends what runs of a held tree here, as after a crash, because its storage failed: nothing of it may be stored as an end. Does
   * nothing if no other process has access to the storage.
   */
  readonly abandon: (rootID: SessionID, error: StorageError) => Effect.Effect<void>
  /** Why work in a tree that is not held has ended here: the storage is away, or another process holds the tree. */
  readonly failure: (rootID: SessionID) => StorageError
  /** Whether commands of an earlier holder may still run in a held tree: it did not release the tree, and is out of reach. */
  readonly hasOrphanProcesses: (rootID: SessionID) => boolean
  /**
   * Ends what runs of a tree here and releases it. The next holder resumes it as after a crash. Nothing more is stored, except
   * what `last` returns in the moment from which the tree is not held.
   */
  readonly leave: (rootID: SessionID, last?: () => ReadonlyArray<Write>) => Effect.Effect<void>
  /** Calls a function whenever memory is out of date for a tree: another process holds it, or has held it meanwhile. */
  readonly onStale: (forget: (rootID: SessionID) => Effect.Effect<void>) => void
  /** Calls a function whenever a lease was renewed, with how long it lasts at least, in milliseconds. */
  readonly onRenewed: (notify: (rootID: SessionID, left: number) => void) => void
  /** Calls a function whenever an idle tree was released. Nobody acquires it again before the function has ended. */
  readonly onReleased: (notify: (rootID: SessionID) => Effect.Effect<void>) => void
  /** To be called when unfinished work of a held tree runs again. */
  readonly continued: (rootID: SessionID) => void
  /**
   * Calls a function when unfinished work of another process continues here: `from` names that process, and is undefined if
   * it left the tree. Once for each time that a tree is acquired, whatever it is acquired for.
   */
  readonly onTakenOver: (notify: (rootID: SessionID, from: string | undefined) => void) => void
  /**
   * Calls a function with the trees that were left because the storage was away for too long. Their work has to be resumed
   * once it is back, as after a crash.
   */
  readonly onOutage: (notify: (rootIDs: ReadonlyArray<SessionID>) => void) => void
}>() {
  /** Leases on a storage, and that storage for lease holders: through it, you cannot change what others hold. */
  static readonly layer: Layer.Layer<Leases | SessionStorage | StorageHealth, never, SessionStorage | Owner> = Layer
    .scopedContext(
      Effect.map(
        makeLeases(),
        ({ health, leases, storage }) =>
          Context.make(Leases, leases).pipe(Context.add(SessionStorage, storage), Context.add(StorageHealth, health))
      )
    )
}
