/** Rewrites a model's stream into the events that Skein reads. */
import { deepest, isTextNested } from "@skein/core/Nesting"
import { longestEvent, tooLongEvent } from "@skein/core/Provider"
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
 * What Skein reads in the events of a protocol. The AI SDK ends an answer at an unknown event, block or value, also where
 * nobody needs it: it gets only what Skein reads, in the shape that it expects.
 */
export interface Protocol {
  /** Whether an event of this type must hold an object. */
  readonly isKnown: (type: string) => boolean
  /** Makes what rewrites the events of one answer: each into none, one or several. */
  readonly makeReader: () => (chunk: Fields, type: string) => ReadonlyArray<Fields>
}

/**
 * Rewrites a stream for the AI SDK. Takes the bytes as they come and returns what to read of them; throws `TooLarge`.
 * Events that hold no object are passed on, so that the AI SDK refuses them.
 */
export const makeEventFilter = (
  bounds: AnswerBounds | undefined,
  protocol: Protocol
): (bytes: Uint8Array) => string => {
  let kept = ""
  let excess: string | undefined
  const read = protocol.makeReader()
  const rewrite = (data: string, type: string): ReadonlyArray<string> => {
    if (data.startsWith("[DONE]")) return [data]
    const parsed = Option.getOrUndefined(parseJson(data))
    // A server may report an error as a list of errors.
    const chunk = fields(Array.isArray(parsed) && isError(fields(parsed[0]) ?? {}) ? parsed[0] : parsed)
    if (chunk !== undefined && !Array.isArray(chunk)) return read(chunk, type).map((each) => JSON.stringify(each))
    return protocol.isKnown(type) ? [data.replaceAll("\n", "\ndata: ")] : []
  }
  const take = (data: string, type = "message"): boolean => {
    if (isTextNested(data)) excess = tooDeepEvent
    else for (const each of rewrite(data, type)) kept += `data: ${each}\n\n`
    return excess === undefined
  }
  const push = bounds === undefined
    ? makeEventStream(take)
    : makeEventStream(take, longestEvent(bounds), () => {
      excess = tooLongEvent(bounds)
    })
  return (bytes) => {
    push(bytes)
    if (excess !== undefined) throw new TooLarge(excess)
    const now = kept
    kept = ""
    return now
  }
}
