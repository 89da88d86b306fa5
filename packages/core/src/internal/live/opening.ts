/** Makes what puts sessions into memory, and what removes them. */
import type { Ids, SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { Governor } from "../../Governor.ts"
import { Leases } from "../../Leases.ts"
import { elapsed } from "../../MonotonicClock.ts"
import type { SessionStorage } from "../../SessionStorage.ts"
import type { StorageError } from "../../StorageError.ts"
import { notFound, type SessionNotFound } from "../../Turn.ts"
import { endTasks } from "./endTasks.ts"
import { Live } from "./Live.ts"
import { nothingStored, readInfo, readStored, type Stored } from "./readSession.ts"
import type { ClosedMeanwhile, SessionMap } from "./SessionMap.ts"

/** The session in memory, unless another process has changed it since; undefined if it has to be read. */
const inMemory = (
  sessions: SessionMap,
  leases: Context.Tag.Service<Leases>,
  id: SessionID,
  close: (id: SessionID) => Effect.Effect<void>
): Effect.Effect<Live | undefined, SessionNotFound | StorageError> =>
  Effect.suspend((): Effect.Effect<Live | undefined, SessionNotFound | StorageError> => {
    const live = sessions.get(id)
    if (live === undefined) return Effect.succeed(live)
    if (live.isLeaving) return notFound(id)
    const { rootID } = live.info
    if (leases.epoch(rootID) > 0) return Effect.succeed(live)
    return Effect.flatMap(leases.isFresh(rootID), (isFresh) => {
      // The tree may have been closed meanwhile, or acquired and continued, which must not be closed.
      if (sessions.get(id) !== live || leases.epoch(rootID) > 0) return inMemory(sessions, leases, id, close)
      return isFresh ? Effect.succeed(live) : Effect.as(close(rootID), undefined)
    })
  })

/** Makes it. `exited` is called when a root has left memory. */
export const makeOpening = (sessions: SessionMap, exited: (rootID: SessionID) => Effect.Effect<void>) =>
  Effect.gen(function*() {
    const governor = yield* Governor
    const leases = yield* Leases
    const clock = yield* Effect.clock
    const scope = yield* Effect.scope
    const context = yield* Effect.context<Ids | SessionStorage>()

    /**
     * Adds a session to memory; undefined if its tree was closed since it was read, and is held now. While it is not held, the
     * reader gets what was read, which stays out of memory: with several readers, each would close the tree of the others.
     */
    const insert = Effect.fnUntraced(function*(
      info: SessionInfo,
      parent: Live | undefined,
      stored: Stored,
      closed?: ClosedMeanwhile
    ) {
      const own = yield* Scope.fork(parent?.scope ?? scope, ExecutionStrategy.parallel)
      // Another fiber may have opened or closed it meanwhile. No fiber runs between this check and the insertion.
      const known = sessions.get(info.id)
      const isAlone = parent !== undefined && sessions.get(parent.info.id) !== parent
      const isOutdated = isAlone || closed?.has(info.rootID) === true
      if (known !== undefined || (isOutdated && (closed === undefined || leases.epoch(info.rootID) > 0))) {
        yield* Scope.close(own, Exit.void)
        return known
      }
      const live = new Live({ info, parent, scope: own, now: () => elapsed(clock), slot: governor.free, ...stored })
      if (isOutdated) return yield* Effect.as(Scope.close(own, Exit.void), live)
      sessions.add(live)
      leases.note(info.id, info.rootID)
      // Runs that wait for a slot have no fiber, so closing the scope does not end them.
      yield* Scope.addFinalizer(own, Effect.suspend(() => endTasks(live.tasks.running)))
      return live
    })

    const add = (info: SessionInfo, parent: Live | undefined) =>
      Effect.flatMap(
        insert(info, parent, nothingStored),
        (live): Effect.Effect<Live, StorageError> =>
          live === undefined ? Effect.fail(leases.failure(info.rootID)) : Effect.succeed(live)
      )

    const load = (id: SessionID): Effect.Effect<Live, SessionNotFound | StorageError> =>
      Effect.acquireUseRelease(
        Effect.sync(() => sessions.beginRead()),
        (closed) =>
          Effect.gen(function*() {
            const info = yield* readInfo(id)
            const parent = info.parentID === undefined ? undefined : yield* open(info.parentID)
            return yield* insert(info, parent, yield* readStored(info), closed)
          }),
        (closed) => Effect.sync(() => sessions.endRead(closed))
      ).pipe(
        Effect.provide(context),
        // What was read may be out of date, and the parent closed: its fibers would end at once.
        Effect.flatMap((live) => live === undefined ? open(id) : Effect.succeed(live))
      )

    const open = (id: SessionID): Effect.Effect<Live, SessionNotFound | StorageError> =>
      Effect.flatMap(
        inMemory(sessions, leases, id, close),
        (live) => live === undefined ? load(id) : Effect.succeed(live)
      )

    const close = (id: SessionID): Effect.Effect<void> =>
      Effect.suspend(() => {
        const live = sessions.get(id)
        sessions.closes(live?.info.rootID ?? id)
        if (live === undefined) return Effect.void
        const gone = sessions.forget(live)
        // Fibers that end now may still store something, so the tree must be held until they have.
        return Effect.flatMap(Scope.close(live.scope, Exit.void), () => {
          for (const each of gone) if (!sessions.has(each)) leases.forget(each)
          return live.parent === undefined && !sessions.has(id) ? exited(id) : Effect.void
        })
      })

    return { add, close, open }
  })
