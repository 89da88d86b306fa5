/** Drops events of unknown types from a model's stream. */
import { longestEvent, tooLongEvent } from "@skein/core/AnswerMeter"
import { deepest, isTextNested } from "@skein/core/Nesting"
import type { AnswerBounds } from "@skein/domain/ConfigInfo"
import * as Option from "effect/Option"
import { TooLarge } from "./errors.ts"
import { makeEventStream } from "./eventStream.ts"
import { type Fields, fields, parseJson } from "./json.ts"

/** Whether an event of this type must hold an object; those of other types may hold anything. */
export const isKnown = (type: string): boolean =>
  type === "message" || type === "error" || type === "response" || type.startsWith("response.")

/** Whether an object describes an error. */
export const isError = ({ detail, error, message, object, type }: Fields): boolean =>
  (error !== undefined && error !== null) || object === "error" || type === "error" ||
  typeof message === "string" || typeof detail === "string"

/** The message for an event that is nested too deeply. */
export const tooDeepEvent = `an event that is nested more than ${deepest} levels deep`

/**
 * Copies the events of a stream of the Responses API that the AI SDK can read or must refuse, and drops those of unknown
 * kinds, which would end its answer. Takes the bytes as they come and returns what to read of them; throws `TooLarge`.
 */
export const makeEventFilter = (bounds: AnswerBounds | undefined): (bytes: Uint8Array) => string => {
  let kept = ""
  let excess: string | undefined
  const take = (data: string, type = "message"): boolean => {
    if (isTextNested(data)) excess = tooDeepEvent
    else if (isReadable(data, type)) kept += `data: ${data.replaceAll("\n", "\ndata: ")}\n\n`
    return excess === undefined
  }
  const read = bounds === undefined
    ? makeEventStream(take)
    : makeEventStream(take, longestEvent(bounds), () => {
      excess = tooLongEvent(bounds)
    })
  return (bytes) => {
    read(bytes)
    if (excess !== undefined) throw new TooLarge(excess)
    const now = kept
    kept = ""
    return now
  }
}

const isReadable = (data: string, type: string): boolean => {
  if (data.startsWith("[DONE]")) return true
  const chunk = Option.getOrUndefined(Option.map(parseJson(data), fields))
  if (chunk === undefined || Array.isArray(chunk)) return isKnown(type)
  // The type may stand in the event name alone. Such an event is known: keep it.
  return typeof chunk["type"] === "string" || isError(chunk) || type.startsWith("response.")
}
