/** Tells apart the ways in which storing a turn may fail. */
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Exit from "effect/Exit"
import { StorageError } from "../../StorageError.ts"

/** Whether a turn ended because something could not be stored. */
export const failedToStore = (exit: Exit.Exit<unknown, { readonly _tag: string }>): boolean =>
  Exit.isFailure(exit) && Chunk.some(Cause.failures(exit.cause), (error) => error._tag === "StorageError")

/** Whether something ended because its database was deleted or replaced. */
export const isGone = (exit: Exit.Exit<unknown, { readonly _tag: string }>): boolean =>
  Exit.isFailure(exit)
  && Chunk.some(Cause.failures(exit.cause), (error) => error instanceof StorageError && error.reason === "gone")
