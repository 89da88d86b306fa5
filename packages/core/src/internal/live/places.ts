/** Decides where a tree may work, and owns which trees have their project open. */
import type { SessionID } from "@skein/domain/Id"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { needsNoDirectory } from "../../Anywhere.ts"
import { Isolation } from "../../Isolation.ts"
import { Leases } from "../../Leases.ts"
import { type Project, Projects, type ProjectServices, ProjectUnavailable } from "../../Projects.ts"
import { SessionStorage } from "../../SessionStorage.ts"
import { Whereabouts } from "../../Whereabouts.ts"
import type { Live } from "./Live.ts"

const refused = ({ directory }: SessionInfo, message: string) => new ProjectUnavailable({ directory, message })

/** What is wrong with the directory of a session without a worktree; undefined if nothing is. */
export const misplaced = (info: SessionInfo, above: SessionInfo): string | undefined =>
  info.worktree !== undefined || info.directory === above.directory
    ? undefined
    : `The session ${info.id} has the directory ${info.directory}, but the session above it works in ${above.directory}. A subagent works there, or in a worktree that Skein has made for it. Start a new task instead.`

const withoutRecord = ({ id }: SessionInfo, root: string): string =>
  `The session ${id} has the worktree ${root}, and Skein has no record that it made it for this session. If it was removed because nothing had changed in it, let the agent above resume the task, which makes it again. Else start a new task.`

/** Checks a session and those above it. Runs with the services of its project. */
export const checkPlace = ({ info, parent }: Live): Effect.Effect<void, ProjectUnavailable, Isolation> => {
  if (parent === undefined) return Effect.void
  const { directory, id: taskID, worktree } = info
  const why = misplaced(info, parent.info)
  if (why !== undefined) return refused(info, why)
  if (worktree === undefined) return checkPlace(parent)
  return Effect.flatMap(Isolation, (isolation) =>
    isolation.contains({ taskID, root: worktree.root, directory }).pipe(
      Effect.mapError(({ message }) => refused(info, message)),
      Effect.flatMap((isOwn) => isOwn ? checkPlace(parent) : refused(info, withoutRecord(info, worktree.root)))
    ))
}

/** Makes the checks: one before a tree is acquired, and one while it is held and its project is open. */
export const makePlacement = Effect.fnUntraced(function*(projects: ProjectsInUse) {
  const leases = yield* Leases
  const storage = yield* SessionStorage
  const whereabouts = yield* Whereabouts
  const refuse = (root: SessionInfo) =>
    Effect.flatMap(
      whereabouts.explain(root),
      (message) => new ProjectUnavailable({ directory: root.directory, host: root.host, message })
    )
  /** The epoch in which each root was found to be in the right place. It stays there until it is released. */
  const placed = new WeakMap<Live, number>()

  return {
    /** A tree whose directory is elsewhere is not even acquired. */
    before: (rootID: SessionID) =>
      Effect.gen(function*() {
        if (!whereabouts.isDecided() || leases.epoch(rootID) > 0) return
        const root = Option.getOrUndefined(yield* storage.session(rootID))
        if (root === undefined || root.anywhere === true || !(yield* whereabouts.isAway(root))) return
        return yield* refuse(root)
      }),
    /** It may have moved meanwhile, and one that goes anywhere needs the right config. */
    within: ({ root }: Live) =>
      Effect.gen(function*() {
        const { info } = root
        const epoch = leases.epoch(info.id)
        if (placed.get(root) === epoch) return
        const isThere = !(yield* whereabouts.isAway(info))
          || (info.anywhere === true && (yield* projects.use(info.id, needsNoDirectory(info.agent, info))))
        if (!isThere) return yield* refuse(info)
        placed.set(root, epoch)
      })
  }
})

/** The projects of the trees that are held. */
export interface ProjectsInUse {
  /** Opens the project of a tree that is held. */
  readonly enter: (live: Live) => Effect.Effect<void, ProjectUnavailable>
  /** Whether the project of a tree is open. */
  readonly has: (rootID: SessionID) => boolean
  /** Releases the project of a tree. */
  readonly exit: (rootID: SessionID) => Effect.Effect<void>
  /** Runs something with the services of the project of a tree. */
  readonly use: <A, E, R>(
    rootID: SessionID,
    effect: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, Exclude<R, ProjectServices>>
}

/** Makes them. Create this before the scopes of sessions, so that it closes after them. */
export const makeProjectsInUse: Effect.Effect<ProjectsInUse, never, Projects | Scope.Scope> = Effect.gen(function*() {
  const projects = yield* Projects
  const scope = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.parallel)
  const opened = new Map<SessionID, { readonly project: Project; readonly scope: Scope.CloseableScope }>()

  const enter = (live: Live): Effect.Effect<void, ProjectUnavailable> =>
    Effect.suspend(() => {
      const { directory, id: rootID } = live.root.info
      if (opened.has(rootID)) return Effect.void
      return Effect.uninterruptibleMask((restore) =>
        Effect.gen(function*() {
          const own = yield* Scope.fork(scope, ExecutionStrategy.sequential)
          const exit = yield* Effect.exit(restore(Scope.extend(projects.open(directory), own)))
          // Another fiber may have opened it meanwhile: that one wins.
          if (Exit.isSuccess(exit) && !opened.has(rootID)) {
            return void opened.set(rootID, { project: exit.value, scope: own })
          }
          yield* Scope.close(own, Exit.void)
          yield* exit
        })
      )
    })

  return {
    enter,
    has: (rootID) => opened.has(rootID),
    exit: (rootID) =>
      Effect.suspend(() => {
        const found = opened.get(rootID)
        opened.delete(rootID)
        return found === undefined ? Effect.void : Scope.close(found.scope, Exit.void)
      }),
    use: (rootID, effect) =>
      Effect.suspend(() =>
        opened.get(rootID)?.project.use(effect)
          ?? Effect.dieMessage(`The project of ${rootID} is not open: nothing works in that tree`)
      )
  }
})
