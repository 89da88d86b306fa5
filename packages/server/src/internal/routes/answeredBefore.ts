/** Placeholders for the routes of events, which are answered before a route is found. */
import * as Effect from "effect/Effect"

/** Fails if that ever changes. */
export const answeredBefore = Effect.dieMessage("Events are answered before a route is looked for")
