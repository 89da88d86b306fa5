/** Decides how a front end watches a tree of sessions. */
import type { Pressure } from "@skein/core/Bus"
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { TreeSnapshot } from "@skein/domain/TreeSnapshot"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { BackendError } from "./BackendError.ts"

/** How the connection to the backend stands. */
export type Connection = "lost" | "back"

/** Who watches. Its functions are called one after the other; they must be fast and must not throw. */
export interface Watcher {
  /** `false`: the pieces of growing text are not needed. */
  readonly deltas?: false
  /** Receives each event, stored ones in the order of their `seq`, none twice. */
  readonly event: (event: Event) => void
  /** Receives the tree: at first, and again where events are missing. Events after its `seq` follow. */
  readonly snapshot?: (tree: TreeSnapshot) => void
  /** Hears when events cease to come, and when they come again: from where they ceased. */
  readonly connection?: (now: Connection) => void
  /** Slows down who works in this process, where the watcher passes events to a slower reader. */
  readonly pressure?: Pressure
}

/** Ways to watch. Each but the first ends when the watcher hears everything, and lasts until the scope closes. */
export interface Watching {
  /** Reads the tree of a session as it stands now. */
  readonly snapshot: (id: SessionID) => Effect.Effect<TreeSnapshot, BackendError>
  /** Watches the tree of a session from now on: first a snapshot, then the events after it. */
  readonly tree: (id: SessionID, watcher: Watcher) => Effect.Effect<void, BackendError, Scope.Scope>
  /** Makes a session, and watches its tree from its very first event. */
  readonly made: (
    making: Effect.Effect<SessionInfo, BackendError>,
    watcher: Omit<Watcher, "snapshot">
  ) => Effect.Effect<SessionInfo, BackendError, Scope.Scope>
}
