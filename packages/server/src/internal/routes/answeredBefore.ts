/** Stands for the routes of events, which are answered before a route is looked for. */
import * as Effect from "effect/Effect"

/** Says so, if that ever changes. */
export const answeredBefore = Effect.dieMessage("Events are answered before a route is looked for")
