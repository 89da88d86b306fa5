/** Owns which trees of sessions have their project open. */
import type { SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { type Project, Projects, type ProjectServices, type ProjectUnavailable } from "../../Projects.ts"
import type { Live } from "./Live.ts"

/** The projects of the trees that are held. */
export interface ProjectsInUse {
  /** Opens the project of a tree that is held. */
  readonly enter: (live: Live) => Effect.Effect<void, ProjectUnavailable>
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
