/** Brings a tree to this host whose own host is gone, if its steps are kept. */
import type { StorageError } from "@skein/core/StorageError"
import type { WorkspaceRefused } from "@skein/core/Workspaces"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import type { Moves } from "./moves.ts"
import type { Place, Places } from "./places.ts"

/** How often to look whether the host is back before its tree is moved, and how long to wait in between. */
const looks = 10
const pause = "500 millis"

const isAway = (place: Place): boolean => place._tag === "Away" && place.isKept === true

/**
 * Makes it; it says whether the tree can be taken up here now. The host gets some seconds to come back: it may only restart,
 * and has all files.
 */
export const makeBring = (
  places: Pick<Places, "of">,
  moves: Moves,
  /** Notes where a tree was: its last server is forgotten with the move. */
  noted: (rootID: SessionID) => Effect.Effect<void>
): (rootID: SessionID) => Effect.Effect<boolean, StorageError> => {
  /** Why each tree did not move when it was last tried. */
  const told = new Map<SessionID, string>()

  const explain = (rootID: SessionID, { message, reason }: WorkspaceRefused) =>
    Effect.suspend(() => {
      if (reason === "off" || reason === "superseded") return Effect.logDebug(`${rootID} does not move here`, message)
      if (told.get(rootID) === message) return Effect.void
      told.set(rootID, message)
      return Effect.logWarning(`${rootID} does not move here`, message)
    })

  const move = (rootID: SessionID): Effect.Effect<boolean, StorageError> =>
    Effect.zipRight(noted(rootID), moves(rootID)).pipe(
      Effect.map(() => {
        told.delete(rootID)
        return true
      }),
      Effect.catchTag("WorkspaceRefused", (error) =>
        Effect.zipRight(
          explain(rootID, error),
          // Another request may have brought it here meanwhile.
          Effect.map(places.of(rootID), ({ _tag }) => _tag === "Here")
        ))
    )

  const wait = (rootID: SessionID, left: number): Effect.Effect<boolean, StorageError> =>
    Effect.flatMap(places.of(rootID), (place) => {
      if (!isAway(place)) return Effect.succeed(place._tag === "Here")
      return left > 0 ? Effect.zipRight(Effect.sleep(pause), wait(rootID, left - 1)) : move(rootID)
    })

  return (rootID) => wait(rootID, looks)
}

/** What brings trees. */
export type Bring = ReturnType<typeof makeBring>
