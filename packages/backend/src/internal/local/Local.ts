/** Decides what the parts of the backend in this process share. */
import type { ManyServices } from "@skein/core/Skein"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** What they share. */
export interface Local {
  /** Provides the services of the process. */
  readonly given: <A, E, R extends ManyServices | Scope.Scope>(
    effect: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, Exclude<R, ManyServices>>
  /** The project of a directory, by which approvals are keyed. */
  readonly projectOf: (directory: string) => Effect.Effect<string>
}
