/** Reads the environment of the process as a whole, for those who hand it on: the one place that does. */
import * as Effect from "effect/Effect"

/**
 * All variables, as they are. A ConfigProvider cannot list them: it looks each name up in capitals, and fails on one such
 * as `npm_node_execpath`.
 */
export const environment: Effect.Effect<Readonly<Record<string, string | undefined>>> = Effect.sync(() => ({
  ...process.env
}))
