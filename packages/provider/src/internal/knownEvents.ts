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

/** What a protocol says in its events. Events of other kinds are dropped: the AI SDK would end the answer at them. */
export interface Protocol {
  /** Whether an event of this type must hold an object. */
  readonly isKnown: (type: string) => boolean
  /** Whether the AI SDK can read an object, or must refuse it. */
  readonly isReadable: (chunk: Fields, type: string) => boolean
}

/** OpenAI's Responses API. */
export const responsesEvents: Protocol = {
  isKnown,
  // The type may be only in the event name. Such an event is known: keep it.
  isReadable: (chunk, type) => typeof chunk["type"] === "string" || isError(chunk) || type.startsWith("response.")
}

const messageEvents = /^(?:message_(?:start|delta|stop)|content_block_(?:start|delta|stop)|error|ping)$/

/** Anthropic's Messages API. */
export const messagesEvents: Protocol = {
  isKnown: (type) => type === "message" || (type !== "ping" && messageEvents.test(type)),
  isReadable: (chunk) => isError(chunk) || messageEvents.test(String(chunk["type"]))
}

const contentFields = ["candidates", "usageMetadata", "promptFeedback"]

/** Google's Generative Language API, whose events have no types. */
export const generateEvents: Protocol = {
  isKnown: (type) => type === "message" || type === "error",
  isReadable: (chunk) => isError(chunk) || contentFields.some((field) => chunk[field] !== undefined)
}

/**
 * Copies the events of a stream that the AI SDK can read or must refuse. Takes the bytes as they come and returns what to
 * read of them; throws `TooLarge`.
 */
export const makeEventFilter = (
  bounds: AnswerBounds | undefined,
  protocol: Protocol
): (bytes: Uint8Array) => string => {
  let kept = ""
  let excess: string | undefined
  const take = (data: string, type = "message"): boolean => {
    if (isTextNested(data)) excess = tooDeepEvent
    else if (isKept(data, type, protocol)) kept += `data: ${data.replaceAll("\n", "\ndata: ")}\n\n`
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

const isKept = (data: string, type: string, protocol: Protocol): boolean => {
  if (data.startsWith("[DONE]")) return true
  const chunk = Option.getOrUndefined(Option.map(parseJson(data), fields))
  if (chunk === undefined || Array.isArray(chunk)) return protocol.isKnown(type)
  return protocol.isReadable(chunk, type)
}
