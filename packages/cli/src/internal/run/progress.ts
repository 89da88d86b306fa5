/** Owns the state of a run. */
import type { BackendError } from "@skein/backend/BackendError"
import type { StorageError } from "@skein/core/StorageError"
import type { SessionID } from "@skein/domain/Id"
import type * as Effect from "effect/Effect"
import type { Denials } from "./denials.ts"
import type { LeftOut } from "./leftOut.ts"
import type { Unfinished } from "./result.ts"

/** The state of a run. */
export interface Progress {
  /** What to show if the run does not finish. */
  left: Unfinished
  /** What to wait for after the result was printed. Nothing more is printed then. */
  after: Effect.Effect<void>
  isOver: boolean
  /** Whether the run works in mode `auto`. */
  isAuto: boolean
  /** Fails if the database is gone, with all that was stored. */
  intact: Effect.Effect<void, BackendError | StorageError>
  /** Whether somebody has deleted this session. */
  isDeleted: (id: SessionID) => Effect.Effect<boolean>
  /** The server that continues the turn, if the user left it running. */
  goesOnAt: string | undefined
  /** Whether what had to stop is known to have stopped. */
  isStopConfirmed: boolean
  readonly denials: Denials
  readonly leftOut: LeftOut
}
