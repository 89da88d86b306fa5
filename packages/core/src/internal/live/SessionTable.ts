/** Owns which sessions are in memory. */
import { Ids, type SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Leases } from "../../Leases.ts"
import type { ProjectServices, ProjectUnavailable } from "../../Projects.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import { StorageError } from "../../StorageError.ts"
import { notFound, type SessionNotFound } from "../../Turn.ts"
import type { LiveMessage } from "./History.ts"
import { Live } from "./Live.ts"
import { makePlacement } from "./makePlacement.ts"
import { makeProjectsInUse, type ProjectsInUse } from "./makeProjectsInUse.ts"
import { makeOpening } from "./opening.ts"
import { readHistory, readInfo } from "./readSession.ts"
import { SessionMap } from "./SessionMap.ts"

/** Reports `SessionNotFound` for work on a session that was removed meanwhile. */
const foundBy = <A, E, R>(change: (live: Live) => Effect.Effect<A, E, R>) => (live: Live) =>
  Effect.mapError(
    change(live),
    (error) =>
      live.isLeaving && error instanceof StorageError && error.reason === "held" ? notFound(live.info.id) : error
  )

/** Makes the ways to use a session while its tree is held. */
const makeUses = ({ leases, open, placement, projects, rootOf, still }: {
  readonly leases: Context.Tag.Service<Leases>
  readonly still: (live: Live) => Effect.Effect<void, StorageError>
  readonly open: (id: SessionID) => Effect.Effect<Live, SessionNotFound | StorageError>
  readonly placement: Effect.Effect.Success<ReturnType<typeof makePlacement>>
  readonly projects: ProjectsInUse
  readonly rootOf: (id: SessionID) => Effect.Effect<SessionID, SessionNotFound | StorageError>
}): Pick<Context.Tag.Service<SessionTable>, "use" | "work" | "settle"> => {
  const held = <A, E, R>(id: SessionID, rootID: SessionID, change: (live: Live) => Effect.Effect<A, E, R>) =>
    leases.hold(rootID, Effect.flatMap(open(id), foundBy((live) => Effect.zipRight(still(live), change(live)))))
  const use = <A, E, R>(
    id: SessionID,
    change: (live: Live) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | SessionNotFound | StorageError, R> =>
    Effect.flatMap(rootOf(id), (rootID) => held(id, rootID, change))
  return {
    use,
    // Reads no more than `use` before it holds the tree, unless it must: a stop that comes later must not be first.
    work: (id, change) =>
      Effect.flatMap(rootOf(id), (rootID) =>
        Effect.zipRight(
          placement.before(rootID),
          held(
            id,
            rootID,
            (live) =>
              projects.enter(live).pipe(
                Effect.zipRight(placement.within(live)),
                Effect.zipRight(still(live)),
                Effect.zipRight(change(live))
              )
          )
        )),
    settle: (id, change) =>
      use(id, (live) => projects.enter(live).pipe(Effect.zipRight(still(live)), Effect.zipRight(change(live))))
  }
}

/** The sessions in memory. */
export class SessionTable extends Context.Tag("@skein/core/internal/session/SessionTable")<SessionTable, {
  /** Loads a session, and those above it, into memory. */
  readonly open: (id: SessionID) => Effect.Effect<Live, SessionNotFound | StorageError>
  /**
   * Changes a session: opens it, and holds its tree meanwhile. Fails with reason `held` if another process works in the
   * tree.
   */
  readonly use: <A, E, R>(
    id: SessionID,
    change: (live: Live) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | SessionNotFound | StorageError, R>
  /** The same for making a session work: opens its project as well. Fails where the directory of the tree is not. */
  readonly work: <A, E, R>(
    id: SessionID,
    change: (live: Live) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | SessionNotFound | StorageError | ProjectUnavailable, R>
  /** The same for ending what is unfinished, which needs no directory. */
  readonly settle: <A, E, R>(
    id: SessionID,
    change: (live: Live) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | SessionNotFound | StorageError | ProjectUnavailable, R>
  /**
   * Runs an effect with the services of the session's project: that of its root's directory. The project is open from
   * the first `work` in the tree until the tree is released.
   */
  readonly inProject: <A, E, R>(
    live: { readonly info: Pick<SessionInfo, "rootID"> },
    effect: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, Exclude<R, ProjectServices>>
  /** Adds a new session to memory. Fails with reason `held` if its parent is no longer there, because the tree was lost. */
  readonly add: (info: SessionInfo, parent: Live | undefined) => Effect.Effect<Live, StorageError>
  /**
   * Fails with reason `held` if a session was closed since it was opened: it was deleted, or its tree was lost, even if this
   * process has the tree again. Call it after something that takes long.
   */
  readonly still: (live: Live) => Effect.Effect<void, StorageError>
  /** The session, if it is in memory. */
  readonly peek: (id: SessionID) => Live | undefined
  /** The child sessions that are in memory. */
  readonly below: (id: SessionID) => ReadonlyArray<Live>
  /** The history of a session, read if it is not in memory. */
  readonly history: (live: Live) => Effect.Effect<ReadonlyArray<LiveMessage>, StorageError>
  /** Forgets the history of an idle session; the next use reads it again. */
  readonly rest: (live: Live) => void
  /** Closes a session and everything below it, and removes them from memory. */
  readonly close: (id: SessionID) => Effect.Effect<void>
}>() {
  /** A table whose sessions end with the layer. */
  static readonly layer = Layer.scoped(
    SessionTable,
    Effect.gen(function*() {
      const leases = yield* Leases
      // Created before the scopes of sessions, so that it closes after them.
      const projects = yield* makeProjectsInUse
      const placement = yield* makePlacement(projects)
      const context = yield* Effect.context<Ids | SessionStorage>()
      const sessions = new SessionMap()

      const { add, close, open } = yield* makeOpening(sessions, projects.exit)

      const rootOf = (id: SessionID) =>
        Effect.map(
          Effect.suspend(() => {
            const known = sessions.get(id)
            return known === undefined ? Effect.provide(readInfo(id), context) : Effect.succeed(known.info)
          }),
          ({ rootID }) => rootID
        )

      const still = (live: Live): Effect.Effect<void, StorageError> =>
        Effect.suspend(() => sessions.get(live.info.id) === live ? Effect.void : leases.failure(live.info.rootID))

      leases.onStale(close)
      leases.onReleased(projects.exit)

      return {
        open,
        ...makeUses({ leases, open, placement, projects, rootOf, still }),
        inProject: (live, effect) => projects.use(live.info.rootID, effect),
        add,
        still,
        peek: (id) => sessions.get(id),
        below: (id) => sessions.below(id),
        history: (live) => Effect.provide(readHistory(live), context),
        rest: (live) => live.running === undefined ? live.history.forget() : undefined,
        close
      }
    })
  )
}
