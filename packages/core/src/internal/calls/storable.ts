/** Decides what of a tool's metadata can be stored: custom tools may return values without JSON. */
import type { ToolState } from "@skein/domain/Part"
import * as Either from "effect/Either"

type Metadata = Readonly<Record<string, unknown>>

/** Why metadata has no JSON; undefined if it has. */
export const metadataFault = (metadata: Metadata | undefined): string | undefined => {
  const written = Either.try(() => JSON.stringify(metadata))
  return Either.isLeft(written) ? String(written.left) : undefined
}

/** A state that every storage accepts: a result whose metadata has no JSON becomes an error, which has no metadata. */
export const storable = (state: ToolState): ToolState => {
  if (state.status !== "completed" && state.status !== "error") return state
  const fault = metadataFault(state.metadata)
  if (fault === undefined) return state
  const { input, time } = state
  const noJson = `Its metadata has no JSON (${fault}). Keep big integers and cycles out of it.`
  return state.status === "completed"
    ? {
      status: "error",
      input,
      time,
      error: { tag: "metadata", message: `The call was made, but its result is lost. ${noJson}` }
    }
    : { status: "error", input, time, error: { ...state.error, message: `${state.error.message}\n\n${noJson}` } }
}
