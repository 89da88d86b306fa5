/** Defines a project: the services that only the sessions of one directory have. */
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { Scope } from "effect/Scope"
import type { Agent } from "./Agent.ts"
import type { Commands } from "./Commands.ts"
import type { Config } from "./Config.ts"
import type { Confinement } from "./Confinement.ts"
import type { Hooks } from "./Hooks.ts"
import type { Instructions } from "./Instructions.ts"
import type { Isolation } from "./Isolation.ts"
import type { Provider } from "./Provider.ts"
import type { Skill } from "./Skill.ts"
import type { Tools } from "./Tool.ts"

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
) => Effect.Effect<ProjectVersion<R>, ProjectUnavailable, R | Scope>
