/** Resumes what earlier processes left unfinished, and leaves unfinished work to the next one. */
import { Leases } from "@skein/core/Leases"
import { addressOf, Owner } from "@skein/core/Owner"
import { Session } from "@skein/core/Session"
import { SessionStorage } from "@skein/core/SessionStorage"
import { isOutage } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** How many trees are resumed or left in parallel. */
const atOnce = 8

/** Resumes every unfinished tree that no other process works on. */
export const resumeAll = Effect.catchAll(
  Session.resumeAll,
  (error) => Effect.logError("Unfinished work was not resumed", error.message)
)

/** Logs a fault in Skein that kept a tree from being resumed: the others are resumed all the same. */
const logFault = (rootID: SessionID) => (defect: unknown) =>
  Effect.logError(`${rootID} was not resumed because of a fault in Skein`, defect)

/** How long to wait until trees that could not be resumed are tried again. */
const pause = "1 second"

/** Logs where a tree continues that another process has taken over meanwhile. */
const logElsewhere = (rootID: SessionID) =>
  Effect.flatMap(Leases, ({ holder }) => Effect.orElseSucceed(holder(rootID), () => undefined)).pipe(
    Effect.flatMap((owner) =>
      Effect.logInfo(
        `${rootID} continues at ${
          owner === undefined ? "another process" : addressOf(owner) ?? owner
        }, which took it over while the storage was away from here`
      )
    )
  )

/** Resumes these trees, as far as they are unfinished; returns those to try again, because the storage is away. */
const resumed = Effect.fnUntraced(function*(rootIDs: ReadonlySet<SessionID>) {
  const session = yield* Session
  const unfinished = yield* (yield* SessionStorage).unfinished
  const failed = yield* Effect.forEach(
    unfinished.filter((rootID) => rootIDs.has(rootID)),
    (rootID) =>
      session.resume(rootID).pipe(
        Effect.zipRight(Effect.logInfo(`${rootID} continues here: the storage is back`)),
        Effect.as([]),
        Effect.catchIf((error) => error._tag === "StorageError" && isOutage(error), () => Effect.succeed([rootID])),
        Effect.catchIf(
          (error) => error._tag === "StorageError" && error.reason === "held",
          () => Effect.as(logElsewhere(rootID), [])
        ),
        Effect.catchAll((error) => Effect.as(Effect.logWarning(`${rootID} was not resumed`, error.message), [])),
        Effect.catchAllDefect((defect) => Effect.as(logFault(rootID)(defect), []))
      ),
    { concurrency: atOnce }
  )
  return new Set(failed.flat())
})

/** Resumes what this process had to leave because its storage was away, as soon as that is back. */
export const resumeAfterOutages = Effect.gen(function*() {
  const leases = yield* Leases
  const left = new Set<SessionID>()
  const isLeft = yield* Effect.makeLatch(false)
  leases.onOutage((rootIDs) => {
    for (const rootID of rootIDs) left.add(rootID)
    isLeft.unsafeOpen()
  })
  const round = Effect.suspend(() => {
    const rootIDs = new Set(left)
    left.clear()
    isLeft.unsafeClose()
    return Effect.map(
      Effect.catchAll(resumed(rootIDs), () => Effect.succeed(rootIDs)),
      (again) => {
        for (const rootID of again) left.add(rootID)
        if (again.size > 0) isLeft.unsafeOpen()
      }
    )
  })
  return yield* Effect.forever(Effect.zipRight(isLeft.await, Effect.zipRight(round, Effect.sleep(pause))))
})

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
