/** Turns an Effect into one that telemetry watches. */
import type * as Effect from "effect/Effect"

/** Watches what runs in it. */
export type Watch = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
