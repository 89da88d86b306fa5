/** Owns the projects of a process: the agents, tools, hooks and settings for the sessions of a directory. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Scope } from "effect/Scope"
import { Agent } from "./Agent.ts"
import { Commands } from "./Commands.ts"
import { Config } from "./Config.ts"
import { Confinement } from "./Confinement.ts"
import { Hooks } from "./Hooks.ts"
import { Instructions } from "./Instructions.ts"
import { makeProjects } from "./internal/project/makeProjects.ts"
import { withServices } from "./internal/project/withServices.ts"
import { Isolation } from "./Isolation.ts"
import type { Project, ProjectServices, ProjectSource, ProjectUnavailable } from "./Project.ts"
import { Provider } from "./Provider.ts"
import { Skill } from "./Skill.ts"
import { Tools } from "./Tool.ts"

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
  readonly open: (directory: string) => Effect.Effect<Project, ProjectUnavailable, Scope>
}>() {
  /** One project for every directory, made of the surrounding services. */
  static readonly layerOne: Layer.Layer<Projects, never, ProjectServices> = Layer.effect(
    Projects,
    Effect.map(Effect.context<ProjectServices>(), (around) => {
      // Only these services: neither the span nor the scope in which the layer is built.
      const services = ofProject(around)
      const project: Project = { use: (effect) => withServices(effect, services) }
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
          Effect.flatMap(Effect.provideService(open(directory), Scope, scope), (project) => project.use(effect))
        )
    )
}
