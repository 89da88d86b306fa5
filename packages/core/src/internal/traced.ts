/** Spans, where somebody collects them. */
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"

/** The tracer that is there when nobody provides one: what it gathers is seen by nobody. */
const unseen = Context.get(DefaultServices.liveServices, Tracer.Tracer)

/** Runs an effect in a span. Without a tracer there is none: on the path of every step and call even an unused one costs. */
export const traced = <A, E, R>(
  name: string,
  attributes: () => Record<string, unknown>,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.tracerWith((tracer): Effect.Effect<A, E, R> =>
    tracer === unseen ? effect : Effect.withSpan(effect, name, { attributes: attributes() })
  )
