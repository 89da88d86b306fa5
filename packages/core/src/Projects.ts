/** Owns the projects of a process: which agents, tools, hooks and settings hold for the sessions of a directory. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Scope } from "effect/Scope"
import { Agent } from "./Agent.ts"
import { Commands } from "./Commands.ts"
import { Config } from "./Config.ts"
import { Hooks } from "./Hooks.ts"
import { Instructions } from "./Instructions.ts"
import { makeProjects } from "./internal/project/makeProjects.ts"
import { Isolation } from "./Isolation.ts"
import type { Project, ProjectServices, ProjectSource, ProjectUnavailable } from "./Project.ts"
import { Provider } from "./Provider.ts"
import { Skill } from "./Skill.ts"
import { Tools } from "./Tool.ts"

/** How long a project stays open that no session uses, unless the program says otherwise. */
export const idleTimeToLive: Duration.DurationInput = "5 minutes"

const ofProject = Context.pick(Agent, Commands, Config, Hooks, Instructions, Isolation, Provider, Skill, Tools)

/** The projects. */
export class Projects extends Context.Tag("@skein/core/Projects")<Projects, {
  /** The project of a directory. It stays open at least as long as the scope. */
  readonly open: (directory: string) => Effect.Effect<Project, ProjectUnavailable, Scope>
}>() {
  /** One project for every directory, made of the services around it. */
  static readonly layerOne: Layer.Layer<Projects, never, ProjectServices> = Layer.effect(
    Projects,
    Effect.map(Effect.context<ProjectServices>(), (around) => {
      // These and nothing else: neither the span nor the scope that the layer is made in.
      const services = ofProject(around)
      const project: Project = { use: (effect) => Effect.provide(effect, services) }
      return { open: () => Effect.succeed(project) }
    })
  )

  /**
   * A project for each directory. One is opened for the first session that needs it, and closed when no session has used it
   * for a while. Sessions get a new version with their next turn; one that cannot be built is logged, and the last one stays.
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
