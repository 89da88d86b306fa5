/** Decides how a front end watches a tree of sessions. */
import type { Pressure } from "@skein/core/Bus"
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type { TreeSnapshot } from "@skein/domain/TreeSnapshot"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { BackendError } from "./BackendError.ts"

/**
 * The state of the connection to the backend: lost or restored, or refused because the server has another token. The server may also report that its
 * storage does not answer, so that the server waits for it, or that it answers again.
 */
export type Connection = "lost" | "refused" | "back" | "storage away" | "storage back"

/** The server that a connection is to. */
export interface ConnectedServer {
  /** That of the lost connection, or of the new one. */
  readonly url: string
  /** Whether it has another URL than before: it was started again, or is another one of the cluster. */
  readonly isOther: boolean
}

/** What people read about the connection. */
export const connectionText = (now: Connection, { isOther, url }: ConnectedServer): string => {
  switch (now) {
    case "lost":
      return "The connection to the server is lost. Trying again …"
    case "refused":
      return "The server's token has changed. Start this program again with SKEIN_TOKEN set to the new one, or unset it to use the token in the server's file."
    case "back":
      return isOther ? `Connected again. The server is ${url} now.` : "The server is there again."
    case "storage away":
      return "The storage of the server does not answer. The server waits for it and then continues."
    case "storage back":
      return "The storage of the server answers again."
  }
}

/** A watcher. Its functions are called one after the other; they must be fast and must not throw. */
export interface Watcher {
  /** `false`: the deltas of growing text are not needed. */
  readonly deltas?: false
  /** Receives each event, stored ones in the order of their `seq`, none twice. */
  readonly event: (event: Event) => void
  /** Receives the tree: at first, and again if events are missing. Events after its `seq` follow. */
  readonly snapshot?: (tree: TreeSnapshot) => void
  /** Called if events are missing for this reason, such as `unreadable`; a snapshot replaces them. */
  readonly missed?: (reason: string) => void
  /** Called when events stop arriving and why, and when they continue, from the same position. */
  readonly connection?: (now: Connection, server: ConnectedServer) => void
  /** Slows down the work in this process if the watcher passes events to a slow reader. */
  readonly pressure?: Pressure
}

/** Ways to watch. Each but the first returns when the watcher gets all events, and lasts until the scope closes. */
export interface Watching {
  /** Reads the current tree of a session. */
  readonly snapshot: (id: SessionID) => Effect.Effect<TreeSnapshot, BackendError>
  /** Watches the tree of a session from now on: first a snapshot, then the events after it. */
  readonly tree: (id: SessionID, watcher: Watcher) => Effect.Effect<void, BackendError, Scope.Scope>
  /** Creates a session, and watches its tree from its very first event. */
  readonly made: (
    making: Effect.Effect<SessionInfo, BackendError>,
    watcher: Omit<Watcher, "snapshot">
  ) => Effect.Effect<SessionInfo, BackendError, Scope.Scope>
}
