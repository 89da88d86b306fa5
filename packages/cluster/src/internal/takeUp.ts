/** Takes up a tree in which nobody works, and records that. */
import { Session } from "@skein/core/Session"
import { isOutage } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import type { Takeovers } from "./takeovers.ts"

/** Makes it. A tree that another process holds by now is left alone; `since` says when it was found free. */
export const makeTakeUp = (takeovers: Takeovers) =>
  Effect.map(Session, (session) => (rootID: SessionID, since: number) =>
    takeovers.lost(rootID, since).pipe(
      Effect.flatMap((lost) => Effect.zipRight(session.resume(rootID), takeovers.taken(lost))),
      Effect.tap(Effect.logInfo(`${rootID} was taken up: nobody worked in it`)),
      Effect.catchIf((error) => error._tag === "StorageError" && error.reason === "held", () => Effect.void),
      Effect.tapError((error) =>
        // That the storage is away is logged once, and not for each tree.
        error._tag === "StorageError" && isOutage(error)
          ? Effect.void
          : Effect.logWarning(`${rootID} could not be taken up`, error.message)
      )
    ))

/** What takes trees up. */
export type TakeUp = Effect.Effect.Success<ReturnType<typeof makeTakeUp>>
