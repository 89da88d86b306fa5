/** Takes up a tree in which nobody works, and records that. */
import { Session } from "@skein/core/Session"
import { isOutage, type StorageError } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Takeovers } from "./takeovers.ts"

/**
 * Makes it. A tree that another process holds by now is left alone; `since` says when it was found free. With `claim`, which
 * acquires it at once or says that it cannot, no other process is waited for. Returns whether it was taken up.
 */
export const makeTakeUp = (takeovers: Takeovers) =>
  Effect.map(Session, (session) =>
  (
    rootID: SessionID,
    since: number,
    claim: Effect.Effect<boolean, StorageError> = Effect.succeed(true)
  ) => {
    const taken = Effect.flatMap(
      takeovers.lost(rootID, since),
      (lost) => Effect.whenEffect(takeovers.during(lost, session.resume(rootID)), claim)
    )
    return taken.pipe(
      Effect.map(Option.isSome),
      Effect.catchIf((error) => error._tag === "StorageError" && error.reason === "held", () => Effect.succeed(false)),
      Effect.tapError((error) =>
        // That the storage is away is logged once, and not for each tree.
        error._tag === "StorageError" && isOutage(error)
          ? Effect.void
          : Effect.logWarning(`${rootID} could not be taken up`, error.message)
      )
    )
  })

/** What takes trees up. */
export type TakeUp = Effect.Effect.Success<ReturnType<typeof makeTakeUp>>
