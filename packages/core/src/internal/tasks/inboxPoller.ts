/** Polls the inboxes for messages from other processes to the tasks of this one. */
import type { InboxRow } from "@skein/domain/InboxRow"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { SessionStorage } from "../../SessionStorage.ts"
import type { StorageError } from "../../StorageError.ts"
import type { TaskRefused } from "../../TaskError.ts"

/** How often, in milliseconds. */
const pace = 250

/** Takes a message to a task that runs here; returns whether nothing is left to do about it. */
export type Receive = (row: InboxRow) => Effect.Effect<boolean, TaskRefused | StorageError>

/** Polls until the scope closes, if other processes have access. */
export const inboxPoller = (receive: Receive): Effect.Effect<void, never, Scope.Scope | SessionStorage> =>
  Effect.flatMap(SessionStorage, ({ mail }) => {
    if (mail === undefined) return Effect.void
    let waiting: ReadonlyArray<InboxRow> = []
    const take = (row: InboxRow) =>
      Effect.catchAll(receive(row), (error) => {
        // Another process, or the session itself, was faster.
        if (error._tag === "StorageError" && error.reason === "constraint") return Effect.succeed(true)
        return Effect.as(
          Effect.logWarning("A message from another process could not be delivered", error.message),
          false
        )
      })
    const look = Effect.gen(function*() {
      waiting = (yield* mail) ?? waiting
      // Messages to a task that does not run here yet stay.
      waiting = yield* Effect.filter(waiting, (row) => Effect.negate(take(row)))
    }).pipe(
      Effect.catchAll((error) => Effect.logWarning("Messages from other processes could not be read", error.message))
    )
    return Effect.asVoid(Effect.forkScoped(Effect.forever(Effect.zipRight(Effect.sleep(pace), look))))
  })
