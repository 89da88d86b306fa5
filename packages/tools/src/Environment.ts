/** Reads the whole environment of the process, for code that passes it on. Nothing else may do so. */
import * as Effect from "effect/Effect"

/**
 * All variables, unchanged. A ConfigProvider cannot list them: it looks up each name in capitals, and fails on one such
 * as `npm_node_execpath`.
 */
export const environment: Effect.Effect<Readonly<Record<string, string | undefined>>> = Effect.sync(() => ({
  ...process.env
}))
