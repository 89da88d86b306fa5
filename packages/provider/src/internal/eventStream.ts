/**
 * Parses server-sent events as bytes arrive, and rewrites a stream into the events that Skein reads. It reads `data:`
 * and `event:`, and ignores the rest of the format.
 */
import { deepest, isTextNested } from "@skein/core/Nesting"
import { longestEvent, tooLongEvent } from "@skein/core/Provider"
import type { AnswerBounds } from "@skein/domain/ConfigInfo"
import * as Option from "effect/Option"
import { StringDecoder } from "node:string_decoder"
import { TooLarge } from "./errors.ts"
import { type Fields, fields, parseJson } from "./json.ts"

/**
 * A reader of one stream; call it with each chunk. It calls `take` with the data of each complete event. `take` returns
 * whether to continue, and so does the reader: after false it reads nothing more. An event longer than the limit calls
 * `tooLong` and ends the reading too.
 */
export const makeEventStream = (
  take: (data: string, type?: string) => boolean,
  longest = Number.POSITIVE_INFINITY,
  tooLong = () => {}
): (bytes: Uint8Array) => boolean => {
  const decoder = new StringDecoder("utf8")
  let begun = false
  let going = true
  /** The start of a line that is not complete yet. */
  let held = ""
  /** Whether the last chunk ended with CR: an LF at the start of the next chunk belongs to it. */
  let afterReturn = false
  let data: string | undefined
  let type: string | undefined

  const readLine = (line: string): boolean => {
    if (line === "") {
      const whole = data
      const named = type
      data = undefined
      type = undefined
      return whole === undefined || whole === "" || take(whole, named)
    }
    if (line.startsWith("event:")) type = line.slice(6).trim() || undefined
    if (line.startsWith("data:")) {
      const value = line.slice(line.charCodeAt(5) === space ? 6 : 5)
      data = data === undefined ? value : `${data}\n${value}`
    } else if (line === "data") data = data === undefined ? "" : `${data}\n`
    return true
  }

  return (bytes) => {
    const text = decoder.write(bytes)
    if (text === "" || !going) return going
    let from = !begun && text.charCodeAt(0) === byteOrderMark ? 1 : 0
    begun = true
    if (afterReturn && text.charCodeAt(0) === lineFeed) from = 1
    afterReturn = false
    let feed = text.indexOf("\n", from)
    let ret = text.indexOf("\r", from)
    while (feed !== -1 || ret !== -1) {
      const end = ret === -1 || (feed !== -1 && feed < ret) ? feed : ret
      const line = held + text.slice(from, end)
      held = ""
      from = end + 1
      if (end === ret) {
        if (from === text.length) afterReturn = true
        else if (text.charCodeAt(from) === lineFeed) from++
        ret = text.indexOf("\r", from)
      }
      if (feed !== -1 && feed < from) feed = text.indexOf("\n", from)
      going = readLine(line)
      if (!going) return false
    }
    held += text.slice(from)
    if (held.length + (data?.length ?? 0) > longest) {
      going = false
      held = ""
      data = undefined
      tooLong()
    }
    return going
  }
}

const space = 0x20
const lineFeed = 0x0a
const byteOrderMark = 0xfeff

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
