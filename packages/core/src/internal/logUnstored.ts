/** Decides how to log that something could not be stored. */
import * as Effect from "effect/Effect"
import type { StorageError } from "../StorageError.ts"

/**
 * Logs it as an error. If the tree is no longer held, its next holder continues from what is stored, and nothing is
 * lost.
 */
export const logUnstored = (message: string) => (error: StorageError): Effect.Effect<void> =>
  error.reason === "held" ? Effect.logDebug(message, error.message) : Effect.logError(message, error.message)
