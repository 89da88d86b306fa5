/**
 * Owns the projects of a process: the agents, tools, hooks and settings for the sessions of a directory. A project stays
 * open while it is used, in the latest version that its files allow.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import { unsafeCoerce } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as RcMap from "effect/RcMap"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { Agent } from "./Agent.ts"
import { Commands } from "./Commands.ts"
import { Config } from "./Config.ts"
import { Hooks } from "./Hooks.ts"
import { Instructions, Skill } from "./Instructions.ts"
import { servicesForLater } from "./internal/traced.ts"
import { Confinement, Isolation } from "./Isolation.ts"
import * as LayerGraph from "./LayerGraph.ts"
import { Provider } from "./Provider.ts"
import { Tools } from "./Tool.ts"

/** A project cannot be opened, for example because its config is broken. */
export class ProjectUnavailable extends Schema.TaggedError<ProjectUnavailable>()("ProjectUnavailable", {
  directory: Schema.String,
  /** The host that has the directory, if that is another one. */
  host: Schema.optional(Schema.String),
  message: Schema.String
}) {}

/** The services that each project has. All other services exist once per process. */
export type ProjectServices =
  | Agent
  | Commands
  | Config
  | Confinement
  | Hooks
  | Instructions
  | Isolation
  | Provider
  | Skill
  | Tools

/** A project that is open. */
export interface Project {
  /**
   * Runs an effect with the services that the project has when it begins. They stay the same until it ends, even if the
   * project's files change.
   */
  readonly use: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, ProjectServices>>
}

/** The content of a project's files at one time. */
export interface ProjectVersion<R = never> {
  readonly layer: Layer.Layer<ProjectServices, ProjectUnavailable, R>
  /** Waits for a new usable content of the files. */
  readonly next: Effect.Effect<ProjectVersion<R>>
}

/** Reads the project of a directory. The scope is that of the open project. */
export type ProjectSource<R = never> = (
  directory: string
) => Effect.Effect<ProjectVersion<R>, ProjectUnavailable, R | Scope.Scope>

/**
 * Runs effects with these services. Providing them copies the context, and most effects of a turn already have them.
 */
const withServices = (services: Context.Context<ProjectServices>): Project["use"] => {
  const all = [...services.unsafeMap]
  return <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.contextWithEffect((context: Context.Context<Exclude<R, ProjectServices>>) =>
      all.every(([key, service]) => context.unsafeMap.get(key) === service)
        // The context already has these services.
        ? unsafeCoerce<typeof effect, Effect.Effect<A, E, Exclude<R, ProjectServices>>>(effect)
        : Effect.provide(effect, services)
    )
}

/** A built version of a project. */
interface Built {
  readonly use: Project["use"]
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
        restore(LayerGraph.buildIn(version.layer, scope)),
        (cause) => Scope.close(scope, Exit.failCause(cause))
      )
      return { use: withServices(services), scope, users: 0 } satisfies Built
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

    const leave = <A, E>(version: Built, exit: Exit.Exit<A, E>) => {
      version.users--
      return version === current ? exit : Effect.zipRight(close(version), exit)
    }

    return {
      ready: Effect.provide(
        opening.withPermits(1)(Effect.suspend(() => current === undefined ? attempt : Effect.void)),
        context
      ),
      // Each step does this a dozen times, and `Effect.acquireUseRelease` takes twice as many operations.
      use: (effect) =>
        Effect.uninterruptibleMask((restore) => {
          const version = current
          if (version === undefined) return Effect.dieMessage(`The project ${directory} is used before it is open`)
          version.users++
          return Effect.flatMap(Effect.exit(restore(version.use(effect))), (exit) => leave(version, exit))
        })
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

/** How long an unused project stays open, by default. */
export const idleTimeToLive: Duration.DurationInput = "5 minutes"

const ofProject = Context.pick(
  Agent,
  Commands,
  Config,
  Confinement,
  Hooks,
  Instructions,
  Isolation,
  Provider,
  Skill,
  Tools
)

/** The projects. */
export class Projects extends Context.Tag("@skein/core/Projects")<Projects, {
  /** The project of a directory. It stays open at least until the scope closes. */
  readonly open: (directory: string) => Effect.Effect<Project, ProjectUnavailable, Scope.Scope>
}>() {
  /** One project for every directory, made of the surrounding services. */
  static readonly layerOne: Layer.Layer<Projects, never, ProjectServices> = Layer.effect(
    Projects,
    Effect.map(Effect.context<ProjectServices>(), (around) => {
      // Only these services: neither the span nor the scope in which the layer is built.
      const services = ofProject(around)
      const project: Project = { use: withServices(services) }
      return { open: () => Effect.succeed(project) }
    })
  )

  /**
   * A project for each directory. It opens for the first session that needs it, and closes after a while without use.
   * Sessions get a new version with their next turn. If a version cannot be built, that is logged, and the last one
   * stays.
   */
  static readonly layer = <R>(
    source: ProjectSource<R>,
    options: { readonly idleTimeToLive?: Duration.DurationInput } = {}
  ): Layer.Layer<Projects, never, R> =>
    Layer.scoped(Projects, makeProjects(source, options.idleTimeToLive ?? idleTimeToLive))

  /** Runs an effect in the project of a directory. */
  static readonly use = <A, E, R>(
    directory: string,
    effect: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E | ProjectUnavailable, Exclude<R, ProjectServices> | Projects> =>
    Effect.flatMap(
      Projects,
      ({ open }) =>
        Effect.scopedWith((scope) =>
          Effect.flatMap(Effect.provideService(open(directory), Scope.Scope, scope), (project) => project.use(effect))
        )
    )
}
