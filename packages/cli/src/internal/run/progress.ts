/** Owns a run as far as it has come. */
import type { BackendError } from "@skein/backend/BackendError"
import type { StorageError } from "@skein/core/StorageError"
import type * as Effect from "effect/Effect"
import type { Denials } from "./denials.ts"
import type { LeftOut } from "./leftOut.ts"
import type { Unfinished } from "./result.ts"

/** A run as far as it has come. */
export interface Progress {
  /** What to show if the run does not finish. */
  left: Unfinished
  /** What is waited for when the result was told: from then on nothing more is. */
  after: Effect.Effect<void>
  isOver: boolean
  /** Whether it works in the mode `auto`. */
  isAuto: boolean
  /** Fails where the database is gone, and all that was stored. */
  intact: Effect.Effect<void, BackendError | StorageError>
  /** The server that continues the turn, if the user left it running. */
  goesOnAt: string | undefined
  /** Whether what was to be stopped is known to have stopped. */
  isStopConfirmed: boolean
  readonly denials: Denials
  readonly leftOut: LeftOut
}
