/** Resumes what earlier processes left unfinished, and leaves unfinished work to the next one. */
import { Owner } from "@skein/core/Owner"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** How many trees are resumed or left in parallel. */
const atOnce = 8

/** Resumes every unfinished tree that no other process works on. */
export const resumeAll = Effect.gen(function*() {
  const storage = yield* SessionStorage
  const session = yield* Session
  const roots = yield* storage.unfinished
  yield* Effect.forEach(roots, (rootID) =>
    session.resume(rootID).pipe(
      Effect.catchIf(
        (error) => error._tag === "StorageError" && error.reason === "held",
        () => Effect.logInfo(`${rootID} is left to the process that works on it`)
      ),
      Effect.catchAll((error) => Effect.logWarning(`${rootID} was not resumed`, error.message))
    ), { concurrency: atOnce, discard: true })
}).pipe(Effect.catchAll((error) => Effect.logError("Unfinished work was not resumed", error.message)))

/** Leaves the trees of this process, so that the next process resumes them. */
export const leaveAll = Effect.gen(function*() {
  const storage = yield* SessionStorage
  const session = yield* Session
  const owner = yield* Owner
  const roots = yield* storage.unfinished
  yield* Effect.forEach(roots, (rootID) =>
    Effect.gen(function*() {
      const lease = Option.getOrUndefined(yield* storage.lease(rootID))
      if (lease?.owner === owner.id) yield* session.leave(rootID)
    }).pipe(Effect.catchAll((error) => Effect.logWarning(`${rootID} was not left cleanly`, error.message))), {
    concurrency: "unbounded",
    discard: true
  })
}).pipe(Effect.catchAll((error) => Effect.logError("Unfinished work was not left cleanly", error.message)))
