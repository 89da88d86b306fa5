import { wireAnswers } from "./wireAnswers.ts"
import { wireBounds } from "./wireBounds.ts"
import type { Wire } from "./wireCase.ts"
import { wireCuts } from "./wireCuts.ts"
import { wireFailures } from "./wireFailures.ts"
import { wireSockets } from "./wireSockets.ts"

/** The tests of one request that every API must pass, whatever the server does. */
export const wireSuite = (wire: Wire): void => {
  wireAnswers(wire)
  wireFailures(wire)
  wireSockets(wire)
  wireBounds(wire)
  wireCuts(wire)
}
