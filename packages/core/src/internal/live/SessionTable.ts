/** Owns which sessions are in memory: reads them, and closes them. */
import { Ids, type SessionID } from "@skein/domain/Id"
import type { InboxRow } from "@skein/domain/InboxRow"
import type { RunTerms } from "@skein/domain/Outcome"
import { type SessionInfo, version } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { Governor } from "../../Governor.ts"
import { Journal } from "../../Journal.ts"
import { Leases } from "../../Leases.ts"
import { elapsed } from "../../MonotonicClock.ts"
import type { ProjectServices, ProjectUnavailable } from "../../Projects.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import { StorageError } from "../../StorageError.ts"
import { type ChildOptions, notFound, type SessionNotFound } from "../../Turn.ts"
import type { LiveMessage } from "./History.ts"
import { endTasks, Live, noTerms, termsOf, unreadableTerms } from "./Live.ts"
import { makePlacement, makeProjectsInUse } from "./places.ts"

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
  /** The same for ending what is unfinished, even where the project cannot be opened. */
  readonly settle: <A, E, R>(
    id: SessionID,
    change: (live: Live) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | SessionNotFound | StorageError, R>
  /**
   * Runs an effect with the services of the session's project: that of its root's directory. The project is open from
   * the first `work` in the tree until the tree is released.
   */
  readonly inProject: <A, E, R>(
    live: { readonly info: Pick<SessionInfo, "rootID"> },
    effect: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, Exclude<R, ProjectServices>>
  /** Whether the project of a session is open. */
  readonly hasProject: (live: Live) => boolean
  /** Adds a new session to memory. Fails with reason `held` if its parent is no longer there, because the tree was lost. */
  readonly add: (info: SessionInfo, parent: Live | undefined) => Effect.Effect<Live, StorageError>
  /**
   * Fails with reason `held` if a session was closed since it was opened: it was deleted, or its tree was lost, even if this
   * process has the tree again. Call it after something that takes long.
   */
  readonly still: (live: Live) => Effect.Effect<void, StorageError>
  /** The session, if it is in memory. */
  readonly peek: (id: SessionID) => Live | undefined
  /** The sessions that are in memory. */
  readonly all: () => ReadonlyArray<Live>
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
      const governor = yield* Governor
      const leases = yield* Leases
      const journal = yield* Journal
      const clock = yield* Effect.clock
      const scope = yield* Effect.scope
      const context = yield* Effect.context<Ids | SessionStorage>()
      // Created before the scopes of sessions, so that it closes after them.
      const projects = yield* makeProjectsInUse
      const placement = yield* makePlacement(projects)
      const sessions = new SessionMap()

      /**
       * Adds a session to memory; undefined if its tree was closed since it was read, and is held now. While it is not held, the
       * reader gets what was read, which stays out of memory: with several readers, each would close the tree of the others.
       */
      const insert = Effect.fnUntraced(function*(
        info: SessionInfo,
        parent: Live | undefined,
        stored: Stored,
        closed?: ReadonlySet<SessionID>
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
        const live = new Live({
          info,
          parent,
          scope: own,
          now: () => elapsed(clock),
          date: () => clock.unsafeCurrentTimeMillis(),
          later: (source, wait) => journal.later(source, "session.waited", wait),
          slot: governor.free,
          ...stored
        })
        if (isOutdated) return yield* Effect.as(Scope.close(own, Exit.void), live)
        sessions.add(live)
        leases.note(info.id, info.rootID)
        // Runs that wait for a slot have no fiber, so closing the scope does not end them.
        yield* Scope.addFinalizer(own, Effect.suspend(() => endTasks(live.tasks.running)))
        return live
      })

      const load = (id: SessionID): Effect.Effect<Live, SessionNotFound | StorageError> =>
        sessions.reading((closed) =>
          Effect.gen(function*() {
            const info = yield* readInfo(id)
            const parent = info.parentID === undefined ? undefined : yield* open(info.parentID)
            return yield* insert(info, parent, yield* readStored(info), closed)
          })
        ).pipe(
          Effect.provide(context),
          // What was read may be out of date, and the parent closed: its fibers would end at once.
          Effect.flatMap((live) => live === undefined ? open(id) : Effect.succeed(live))
        )

      /** Loads it, unless it is in memory and no other process has changed it since. */
      const open = (id: SessionID): Effect.Effect<Live, SessionNotFound | StorageError> =>
        Effect.suspend(() => {
          const live = sessions.get(id)
          if (live === undefined) return load(id)
          if (live.isLeaving) return notFound(id)
          const { rootID } = live.info
          if (leases.epoch(rootID) > 0) return Effect.succeed(live)
          return Effect.flatMap(leases.isFresh(rootID), (isFresh) => {
            // The tree may have been closed meanwhile, or acquired and continued, which must not be closed.
            if (sessions.get(id) !== live || leases.epoch(rootID) > 0) return open(id)
            return isFresh ? Effect.succeed(live) : Effect.zipRight(close(rootID), load(id))
          })
        })

      const close = (id: SessionID): Effect.Effect<void> =>
        Effect.suspend(() => {
          const live = sessions.get(id)
          sessions.closes(live?.info.rootID ?? id)
          if (live === undefined) return Effect.void
          const gone = sessions.forget(live)
          // Fibers that end now may still store something, so the tree must be held until they have.
          return Effect.flatMap(Scope.close(live.scope, Exit.void), () => {
            for (const each of gone) if (sessions.get(each) === undefined) leases.forget(each)
            return live.parent === undefined && sessions.get(id) === undefined ? projects.exit(id) : Effect.void
          })
        })

      const still = (live: Live): Effect.Effect<void, StorageError> =>
        Effect.suspend(() => sessions.get(live.info.id) === live ? Effect.void : leases.failure(live.info.rootID))

      /** Opens a session while its tree is held; `before` comes first. */
      const held = <A, E, E2, R>(
        id: SessionID,
        change: (live: Live) => Effect.Effect<A, E, R>,
        before: (rootID: SessionID) => Effect.Effect<void, E2> = () => Effect.void
      ): Effect.Effect<A, E | E2 | SessionNotFound | StorageError, R> =>
        Effect.flatMap(
          Effect.suspend(() => {
            const known = sessions.get(id)
            return known === undefined ? Effect.provide(readInfo(id), context) : Effect.succeed(known.info)
          }),
          ({ rootID }) => {
            const changed = Effect.flatMap(open(id), (live) =>
              Effect.mapError(
                Effect.zipRight(still(live), change(live)),
                // It may have been removed meanwhile.
                (error) =>
                  live.isLeaving && error instanceof StorageError && error.reason === "held" ? notFound(id) : error
              ))
            return Effect.zipRight(before(rootID), leases.hold(rootID, changed))
          }
        )

      leases.onStale(close)
      leases.onReleased(projects.exit)

      return {
        open,
        use: (id, change) => held(id, change),
        // Reads no more than `use` before it holds the tree, unless it must: a stop that comes later must not be first.
        work: (id, change) =>
          held(id, (live) => {
            const entered = Effect.zipRight(projects.enter(live), placement.within(live))
            return entered.pipe(Effect.zipRight(still(live)), Effect.zipRight(change(live)))
          }, placement.before),
        settle: (id, change) =>
          held(id, (live) => {
            const entered = Effect.catchAll(projects.enter(live), () => Effect.void)
            return entered.pipe(Effect.zipRight(still(live)), Effect.zipRight(change(live)))
          }),
        inProject: (live, effect) => projects.use(live.info.rootID, effect),
        hasProject: ({ info: { rootID } }) => projects.has(rootID),
        add: (info, parent) =>
          Effect.flatMap(
            insert(info, parent, nothingStored),
            (live): Effect.Effect<Live, StorageError> =>
              live === undefined ? Effect.fail(leases.failure(info.rootID)) : Effect.succeed(live)
          ),
        still,
        peek: (id) => sessions.get(id),
        all: () => sessions.all,
        below: (id) => sessions.below(id),
        history: (live) => historyOf(live, context),
        rest: (live) => live.running === undefined ? live.history.forget() : undefined,
        close
      }
    })
  )
}

/** The sessions in memory. */
class SessionMap {
  readonly #sessions = new Map<SessionID, Live>()
  readonly #children = new Map<SessionID, Set<Live>>()
  readonly #reads = new Set<Set<SessionID>>()

  /** The session of an id. */
  get(id: SessionID): Live | undefined {
    return this.#sessions.get(id)
  }

  /** All of them. */
  get all(): ReadonlyArray<Live> {
    return [...this.#sessions.values()]
  }

  /** The sessions directly below one. */
  below(id: SessionID): ReadonlyArray<Live> {
    return [...(this.#children.get(id) ?? [])]
  }

  /** Adds a session. */
  add(live: Live): void {
    const { parent } = live
    this.#sessions.set(live.info.id, live)
    if (parent === undefined) return
    const siblings = this.#children.get(parent.info.id) ?? new Set()
    this.#children.set(parent.info.id, siblings.add(live))
  }

  /** Reads a session. What was read of the trees that were closed meanwhile, by their roots, may be out of date. */
  reading<A, E, R>(
    read: (closed: ReadonlySet<SessionID>) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const closed = new Set<SessionID>()
      this.#reads.add(closed)
      return Effect.ensuring(read(closed), Effect.sync(() => this.#reads.delete(closed)))
    })
  }

  /** A tree is being closed, whether or not any of its sessions is in memory. */
  closes(rootID: SessionID): void {
    for (const closed of this.#reads) closed.add(rootID)
  }

  /** Forgets a session and all below it; returns their ids. */
  forget(live: Live): ReadonlyArray<SessionID> {
    const { id } = live.info
    const below = this.below(id).flatMap((child) => this.forget(child))
    this.#children.delete(id)
    this.#sessions.delete(id)
    if (live.parent !== undefined) this.#children.get(live.parent.info.id)?.delete(live)
    return [...below, id]
  }
}

/** The data of a session. */
const readInfo = Effect.fnUntraced(function*(id: SessionID) {
  const storage = yield* SessionStorage
  const found = yield* storage.session(id)
  return Option.isNone(found) ? yield* notFound(id) : found.value
})

/** The inbox of a session. Skips and logs rows that cannot be read. */
const readInbox = Effect.fnUntraced(function*(id: SessionID) {
  const storage = yield* SessionStorage
  const ids = yield* Ids
  const { rows, unreadable } = yield* storage.inbox(id)
  for (const row of unreadable) {
    yield* Effect.logError(
      `${row.id} waits for ${id} and cannot be read (${row.reason}): the session continues without it. `
        + "Use the version of Skein that wrote it."
    )
  }
  for (const row of rows) ids.after(row.id)
  return rows
})

/**
 * The terms of a task: those of its current run, or of its last one. A prompt to the task itself changes nothing about
 * them.
 */
const readTerms = Effect.fnUntraced(function*({ id, parentID }: SessionInfo) {
  if (parentID === undefined) return noTerms
  const storage = yield* SessionStorage
  const { rows, unreadable } = yield* storage.runs({ taskID: id })
  const run = rows.findLast(({ time }) => time.started !== undefined) ?? rows[0]
  if (unreadable.some((row) => run === undefined || row.id > run.id)) return unreadableTerms
  return run === undefined ? noTerms : termsOf(run)
})

/** What is stored of a session in other rows than its own, as far as it is always in memory. */
interface Stored {
  readonly inbox: ReadonlyArray<InboxRow>
  readonly terms: RunTerms
}

/** That of a new session. */
const nothingStored: Stored = { inbox: [], terms: noTerms }

/** Reads it. */
const readStored = Effect.fnUntraced(function*(info: SessionInfo) {
  const stored: Stored = { inbox: yield* readInbox(info.id), terms: yield* readTerms(info) }
  return stored
})

/** Reads the messages of a session. */
const readHistory = Effect.fnUntraced(function*(live: Live) {
  const storage = yield* SessionStorage
  const ids = yield* Ids
  const found = yield* storage.messages(live.info.id)
  const last = found.rows.at(-1)
  // Messages and parts are sorted by id, including those of another process with another clock.
  if (last !== undefined) { for (const { id } of [last.info, ...last.parts]) ids.after(id) }
  const messages: ReadonlyArray<LiveMessage> = live.history.load(found.rows)
  return messages
})

/** The messages of a session, read unless they are in memory. */
const historyOf = (live: Live, context: Context.Context<Ids | SessionStorage>) =>
  Effect.suspend(() =>
    live.messages === undefined ? Effect.provide(readHistory(live), context) : Effect.succeed(live.messages)
  )

/** Runs it with the current services; they stay the same until it ends. Holds the session's tree meanwhile. */
export const inProject = <A, E, R>(
  live: { readonly info: Pick<SessionInfo, "rootID"> },
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, Exclude<R, ProjectServices> | SessionTable> =>
  Effect.flatMap(SessionTable, (table) => table.inProject(live, effect))

/** The data of a new child session. */
export const childInfo = (parent: SessionInfo, id: SessionID, options: ChildOptions, now: number): SessionInfo => ({
  id,
  parentID: parent.id,
  rootID: parent.rootID,
  depth: parent.depth + 1,
  projectID: parent.projectID,
  directory: parent.directory,
  ...options.place,
  title: options.title,
  agent: options.agent,
  ...(options.model === undefined ? {} : { model: options.model }),
  ...(options.prompt === undefined ? {} : { prompt: { agent: options.agent, text: options.prompt } }),
  permission: options.permission,
  usage: { own: none, subtree: none },
  version,
  time: { created: now, updated: now }
})
