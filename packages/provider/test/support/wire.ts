import { wireAnswers } from "./wireAnswers.ts"
import { wireBounds } from "./wireBounds.ts"
import type { Wire } from "./wireCase.ts"
import { wireFailures } from "./wireFailures.ts"
import { wireSockets } from "./wireSockets.ts"

/** What every API must do with one request, whatever the server does. */
export const wireSuite = (wire: Wire): void => {
  wireAnswers(wire)
  wireFailures(wire)
  wireSockets(wire)
  wireBounds(wire)
}
