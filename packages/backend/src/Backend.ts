/** Owns what a front end works on: sessions, their events, questions and tasks, wherever they run. */
import type { Machine } from "@skein/core/Machine"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Asking } from "./Asking.ts"
import type { BackendError } from "./BackendError.ts"
import type { ProjectFacts } from "./ProjectFacts.ts"
import type { Sessions } from "./Sessions.ts"
import type { TaskControl } from "./TaskControl.ts"
import type { Watching } from "./Watching.ts"

/** Where sessions run: in this process, or on a server. */
export type Where =
  | { readonly _tag: "Local" }
  | { readonly _tag: "Server"; readonly url: string; readonly version: string }

/** What a front end works on. `LocalBackend` and `ServerBackend` have the layers. */
export class Backend extends Context.Tag("@skein/backend/Backend")<Backend, {
  readonly where: Where
  readonly sessions: Sessions
  readonly watch: Watching
  readonly asks: Asking
  readonly tasks: TaskControl
  readonly projects: ProjectFacts
  /** The machine on which new sessions work; undefined if it is that of this process, or not known. */
  readonly machine: Effect.Effect<Machine | undefined, BackendError>
  /** Fails if the stored data is gone, for example because the database file was deleted. */
  readonly intact: Effect.Effect<void, BackendError>
}>() {}
