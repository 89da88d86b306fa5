/** Decides how loudly it is said that something could not be stored. */
import * as Effect from "effect/Effect"
import type { StorageError } from "../StorageError.ts"

/** Logs it as an error; where the tree is no longer held, its next holder goes on with what is stored, and nothing is lost. */
export const logUnstored = (message: string) => (error: StorageError): Effect.Effect<void> =>
  error.reason === "held" ? Effect.logDebug(message, error.message) : Effect.logError(message, error.message)
