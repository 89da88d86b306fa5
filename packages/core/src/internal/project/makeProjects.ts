/** Keeps the projects of a process open while they are used, each in the latest version that its files allow. */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as RcMap from "effect/RcMap"
import * as Scope from "effect/Scope"
import type { Project, ProjectServices, ProjectSource, ProjectUnavailable, ProjectVersion } from "../../Project.ts"
import { servicesForLater } from "../traced.ts"
import { withServices } from "./withServices.ts"

/** A built version of a project. */
interface Built {
  readonly services: Context.Context<ProjectServices>
  readonly scope: Scope.CloseableScope
  /** How many users run with it. A replaced version closes when the last one ends. */
  users: number
}

/** A project in the map. Its first user opens it, and the next one after a failure. */
interface Entry extends Project {
  readonly ready: Effect.Effect<void, ProjectUnavailable>
}

const reasonOf = (cause: Cause.Cause<ProjectUnavailable>): string =>
  Option.match(Cause.failureOption(cause), { onNone: () => Cause.pretty(cause), onSome: ({ message }) => message })

const build = <R>(version: ProjectVersion<R>, lifetime: Scope.Scope) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const scope = yield* Scope.fork(lifetime, ExecutionStrategy.sequential)
      const services = yield* Effect.onError(
        restore(Layer.buildWithScope(version.layer, scope)),
        (cause) => Scope.close(scope, Exit.failCause(cause))
      )
      return { services, scope, users: 0 } satisfies Built
    })
  )

const makeEntry = <R>(directory: string, source: ProjectSource<R>, context: Context.Context<R>) =>
  Effect.gen(function*() {
    const lifetime = yield* Effect.scope
    const opening = yield* Effect.makeSemaphore(1)
    let current: Built | undefined

    const logged = (message: string, cause: Cause.Cause<ProjectUnavailable>) =>
      Effect.annotateLogs(Effect.logError(message, reasonOf(cause)), { directory })

    const close = (version: Built) =>
      version.users > 0 ? Effect.void : Effect.catchAllCause(
        Scope.close(version.scope, Exit.void),
        (cause) => logged("A version of the project could not be closed", cause)
      )

    const replace = (next: Built) =>
      Effect.suspend(() => {
        const last = current
        current = next
        return last === undefined ? Effect.void : close(last)
      })

    const take = (next: ProjectVersion<R>) =>
      Effect.matchCauseEffect(build(next, lifetime), {
        onFailure: (cause) => logged("The project was changed and cannot be used; its last version stays", cause),
        onSuccess: replace
      })

    // One version may be broken and the next one usable.
    const follow = (version: ProjectVersion<R>): Effect.Effect<void, never, R> =>
      Effect.matchCauseEffect(version.next, {
        onFailure: (cause) => logged("Changes of the project are no longer noticed; its last version stays", cause),
        onSuccess: (next) => Effect.zipRight(take(next), follow(next))
      })

    const first = Effect.gen(function*() {
      const version = yield* source(directory)
      const built = yield* build(version, yield* Effect.scope)
      yield* Effect.uninterruptible(Effect.suspend(() => {
        current = built
        return Effect.forkScoped(Effect.interruptible(follow(version)))
      }))
    })

    /** A failed attempt leaves nothing open. */
    const attempt = Effect.uninterruptibleMask((restore) =>
      Effect.gen(function*() {
        const scope = yield* Scope.fork(lifetime, ExecutionStrategy.sequential)
        yield* Effect.onError(
          restore(Effect.provideService(first, Scope.Scope, scope)),
          (cause) => Scope.close(scope, Exit.failCause(cause))
        )
      })
    )

    const enter = Effect.suspend(() => {
      if (current === undefined) return Effect.dieMessage(`The project ${directory} is used before it is open`)
      current.users++
      return Effect.succeed(current)
    })

    return {
      ready: Effect.provide(
        opening.withPermits(1)(Effect.suspend(() => current === undefined ? attempt : Effect.void)),
        context
      ),
      use: (effect) =>
        Effect.acquireUseRelease(
          enter,
          ({ services }) => withServices(effect, services),
          (version) =>
            Effect.suspend(() => {
              version.users--
              return version === current ? Effect.void : close(version)
            })
        )
    } satisfies Entry
  })

/**
 * Makes the service. An `RcMap` counts the users of each directory. Its lookup cannot fail: otherwise it would cache
 * the failure, and a config that was fixed meanwhile would not be read.
 */
export const makeProjects = <R>(source: ProjectSource<R>, idleTimeToLive: Duration.DurationInput) =>
  Effect.flatMap(servicesForLater<R>(), (context) =>
    Effect.map(
      // A lookup runs with the services of the first user, which may have others of its own.
      RcMap.make({ lookup: (directory: string) => makeEntry(directory, source, context), idleTimeToLive }),
      (entries) => ({
        open: (directory: string) => Effect.tap(RcMap.get(entries, directory), ({ ready }) => ready)
      })
    ))
