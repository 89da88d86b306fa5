/** Provides the services of a project, at no cost where the context has them already. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { unsafeCoerce } from "effect/Function"
import type { ProjectServices } from "../../Project.ts"

const hasAll = (context: Context.Context<never>, services: Context.Context<ProjectServices>): boolean => {
  for (const [key, service] of services.unsafeMap) if (context.unsafeMap.get(key) !== service) return false
  return true
}

/**
 * Runs an effect with these services. Providing them copies the context, and most effects of a turn already have them.
 */
export const withServices = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  services: Context.Context<ProjectServices>
): Effect.Effect<A, E, Exclude<R, ProjectServices>> =>
  Effect.contextWithEffect((context: Context.Context<Exclude<R, ProjectServices>>) =>
    hasAll(context, services)
      // The context already has these services.
      ? unsafeCoerce<typeof effect, Effect.Effect<A, E, Exclude<R, ProjectServices>>>(effect)
      : Effect.provide(effect, services)
  )
