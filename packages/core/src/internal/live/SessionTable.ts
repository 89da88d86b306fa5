/** Owns which sessions are in memory. */
import { Ids, type SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { Governor } from "../../Governor.ts"
import { Leases } from "../../Leases.ts"
import { elapsed } from "../../MonotonicClock.ts"
import type { Project, ProjectServices, ProjectUnavailable } from "../../Project.ts"
import { Projects } from "../../Projects.ts"
import { notFound, type SessionNotFound } from "../../SessionError.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import type { StorageError } from "../../StorageError.ts"
import { endTasks } from "./endTasks.ts"
import type { LiveMessage } from "./History.ts"
import { Live } from "./Live.ts"

/** The sessions in memory. */
export class SessionTable extends Context.Tag("@skein/core/internal/session/SessionTable")<SessionTable, {
  /** Brings a session, and those above it, into memory. */
  readonly open: (id: SessionID) => Effect.Effect<Live, SessionNotFound | StorageError>
  /**
   * Does something that changes a session: opens it, with this process holding its tree meanwhile. Fails with reason `held`
   * where another process is at work in the tree.
   */
  readonly use: <A, E, R>(
    id: SessionID,
    change: (live: Live) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | SessionNotFound | StorageError, R>
  /** The same for what makes a session work: opens its project as well. */
  readonly work: <A, E, R>(
    id: SessionID,
    change: (live: Live) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | SessionNotFound | StorageError | ProjectUnavailable, R>
  /**
   * Runs an effect with the services of the session's project: that of the directory of its root. The project is open from
   * the first `work` in the tree until the tree is let go.
   */
  readonly inProject: <A, E, R>(
    live: { readonly info: Pick<SessionInfo, "rootID"> },
    effect: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, Exclude<R, ProjectServices>>
  /** Puts a new session into memory. */
  readonly add: (info: SessionInfo, parent: Live | undefined) => Effect.Effect<Live>
  /** The session, where it is in memory. */
  readonly peek: (id: SessionID) => Live | undefined
  /** Those directly below a session, where they are in memory. */
  readonly below: (id: SessionID) => ReadonlyArray<Live>
  /** The history of a session, read where it is not in memory. */
  readonly history: (live: Live) => Effect.Effect<ReadonlyArray<LiveMessage>, StorageError>
  /** Forgets the history of a session that is idle: it is read again when it is needed. */
  readonly rest: (live: Live) => void
  /** Ends what runs for a session, and forgets it and all below it. */
  readonly close: (id: SessionID) => Effect.Effect<void>
}>() {
  /** A table whose sessions end with the layer. */
  static readonly layer = Layer.scoped(
    SessionTable,
    Effect.gen(function*() {
      const storage = yield* SessionStorage
      const governor = yield* Governor
      const leases = yield* Leases
      const ids = yield* Ids
      const clock = yield* Effect.clock
      const projects = yield* Projects
      const scope = yield* Effect.scope
      // Made before the sessions' scopes, and so closed after them.
      const ofProjects = yield* Scope.fork(scope, ExecutionStrategy.parallel)
      const opened = new Map<SessionID, { readonly project: Project; readonly scope: Scope.CloseableScope }>()
      const table = new Map<SessionID, Live>()
      const children = new Map<SessionID, Set<Live>>()

      const add = Effect.fnUntraced(function*(
        info: SessionInfo,
        parent: Live | undefined,
        waiting: ReadonlyArray<InboxRow> = []
      ) {
        const own = yield* Scope.fork(parent?.scope ?? scope, ExecutionStrategy.parallel)
        // Somebody else may have opened it meanwhile: theirs counts. From here to its place in the table is one moment.
        const known = table.get(info.id)
        if (known !== undefined) {
          yield* Scope.close(own, Exit.void)
          return known
        }
        const live = new Live({
          info,
          parent,
          scope: own,
          now: () => elapsed(clock),
          slot: governor.free,
          inbox: waiting.filter(({ kind }) => kind !== "stop")
        })
        table.set(info.id, live)
        leases.note(info.id, info.rootID)
        if (parent !== undefined) {
          const siblings = children.get(parent.info.id) ?? new Set()
          children.set(parent.info.id, siblings.add(live))
        }
        // Runs that wait for a slot have no fiber that would end with the scope.
        yield* Scope.addFinalizer(own, Effect.suspend(() => endTasks(live.tasks.running)))
        return live
      })

      /** What is in memory, unless another process has changed it since; undefined where nothing is. */
      const known = (id: SessionID): Effect.Effect<Live | undefined, SessionNotFound | StorageError> =>
        Effect.suspend((): Effect.Effect<Live | undefined, SessionNotFound | StorageError> => {
          const live = table.get(id)
          if (live === undefined) return Effect.succeed(live)
          if (live.isLeaving) return notFound(id)
          const { rootID } = live.info
          if (leases.epoch(rootID) > 0) return Effect.succeed(live)
          return Effect.flatMap(
            leases.isFresh(rootID),
            (isFresh) => isFresh ? Effect.succeed(live) : Effect.as(close(rootID), undefined)
          )
        })

      const open = (id: SessionID): Effect.Effect<Live, SessionNotFound | StorageError> =>
        Effect.flatMap(known(id), (live) => live === undefined ? load(id) : Effect.succeed(live))

      const rootOfStored = (id: SessionID) =>
        Effect.flatMap(
          storage.session(id),
          Option.match({
            onNone: () => notFound(id),
            onSome: ({ rootID }) => Effect.succeed(rootID)
          })
        )

      const use = <A, E, R>(
        id: SessionID,
        change: (live: Live) => Effect.Effect<A, E, R>
      ): Effect.Effect<A, E | SessionNotFound | StorageError, R> =>
        Effect.gen(function*() {
          const rootID = table.get(id)?.info.rootID ?? (yield* rootOfStored(id))
          return yield* Effect.acquireUseRelease(
            leases.hold(rootID),
            () => Effect.flatMap(open(id), change),
            (done) => Effect.sync(done)
          )
        })

      /** Opens the project of a tree that is held. */
      const enter = (live: Live): Effect.Effect<void, ProjectUnavailable> =>
        Effect.suspend(() => {
          const { directory, id: rootID } = live.root.info
          if (opened.has(rootID)) return Effect.void
          return Effect.uninterruptibleMask((restore) =>
            Effect.gen(function*() {
              const own = yield* Scope.fork(ofProjects, ExecutionStrategy.sequential)
              const exit = yield* Effect.exit(restore(Scope.extend(projects.open(directory), own)))
              // Somebody else may have opened it meanwhile: theirs counts.
              if (Exit.isSuccess(exit) && !opened.has(rootID)) {
                return void opened.set(rootID, { project: exit.value, scope: own })
              }
              yield* Scope.close(own, Exit.void)
              yield* exit
            })
          )
        })

      const exitProject = (rootID: SessionID): Effect.Effect<void> =>
        Effect.suspend(() => {
          const found = opened.get(rootID)
          opened.delete(rootID)
          return found === undefined ? Effect.void : Scope.close(found.scope, Exit.void)
        })

      const load = Effect.fnUntraced(function*(id: SessionID) {
        const found = yield* storage.session(id)
        if (Option.isNone(found)) return yield* notFound(id)
        const info = found.value
        const parent = info.parentID === undefined ? undefined : yield* open(info.parentID)
        const { rows, unreadable } = yield* storage.inbox(id)
        for (const row of unreadable) {
          yield* Effect.logError(
            `${row.id} waits for ${id} and cannot be read (${row.reason}): the session goes on without it. `
              + "Use the version of Skein that wrote it."
          )
        }
        for (const row of rows) ids.after(row.id)
        return yield* add(info, parent, rows)
      })

      const history = Effect.fnUntraced(function*(live: Live) {
        if (live.messages !== undefined) return live.messages
        const found = yield* storage.messages(live.info.id)
        const last = found.rows.at(-1)
        // Messages and parts are in the order of their ids, also those of another process with another clock.
        if (last !== undefined) { for (const { id } of [last.info, ...last.parts]) ids.after(id) }
        return live.history.load(found.rows)
      })

      const close = (id: SessionID): Effect.Effect<void> =>
        Effect.suspend(() => {
          const live = table.get(id)
          if (live === undefined) return Effect.void
          const gone: Array<SessionID> = []
          forget(live, gone)
          // What ends now still belongs to the tree, and is stored only while that is held.
          return Effect.zipRight(
            Scope.close(live.scope, Exit.void),
            Effect.suspend(() => {
              for (const each of gone) if (!table.has(each)) leases.forget(each)
              return live.parent === undefined && !table.has(id) ? exitProject(id) : Effect.void
            })
          )
        })

      const forget = (live: Live, gone: Array<SessionID>): void => {
        for (const child of children.get(live.info.id) ?? []) forget(child, gone)
        children.delete(live.info.id)
        table.delete(live.info.id)
        gone.push(live.info.id)
        if (live.parent !== undefined) children.get(live.parent.info.id)?.delete(live)
      }

      leases.onStale(close)
      leases.onRest(exitProject)

      return {
        open,
        use,
        work: (id, change) => use(id, (live) => Effect.zipRight(enter(live), change(live))),
        inProject: (live, effect) =>
          Effect.suspend(() => {
            const { rootID } = live.info
            return opened.get(rootID)?.project.use(effect)
              ?? Effect.dieMessage(`The project of ${rootID} is not open: nothing works in that tree`)
          }),
        add,
        peek: (id) => table.get(id),
        below: (id) => [...(children.get(id) ?? [])],
        history,
        rest: (live) => {
          if (live.running === undefined) live.history.forget()
        },
        close
      }
    })
  )
}
