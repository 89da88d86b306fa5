/** Reads a success that is not an event stream, and decides what it is instead. */
import * as Option from "effect/Option"
import type { IncomingMessage } from "node:http"
import { Refusal, WrongAnswer } from "./errors.ts"
import { errorLimit, isSuccess } from "./http.ts"
import { fields, parseJson } from "./json.ts"
import { isError } from "./knownEvents.ts"

const kindOf = ({ headers }: IncomingMessage): string => headers["content-type"] ?? ""

/** Whether this is a success that is not an event stream. Parsed as one, it would be an empty answer. */
export const isNotStream = (incoming: IncomingMessage): boolean =>
  isSuccess(incoming) && /\b(?:json|html|xml)\b/i.test(kindOf(incoming))

/** Whether a body is the whole answer that a stream would have told in pieces, in one of the APIs. */
const isWhole = (body: Readonly<Record<string, unknown>>): boolean =>
  body["object"] === "chat.completion" || body["object"] === "response" || body["type"] === "message" ||
  Array.isArray(body["choices"]) || Array.isArray(body["candidates"])

/** What a body is; undefined if more of it may say. */
const meaning = (url: URL, incoming: IncomingMessage, text: string): Error | undefined => {
  const { statusCode = 0 } = incoming
  const parsed = Option.getOrUndefined(parseJson(text))
  const body = fields(Array.isArray(parsed) ? parsed[0] : parsed)
  if (body !== undefined && isError(body)) return new Refusal(incoming, text)
  if (body !== undefined && isWhole(body)) return new WrongAnswer(url, statusCode, kindOf(incoming), true)
  const mayGoOn = parsed === undefined && /^\s*(?:[[{]|$)/.test(text)
  return mayGoOn ? undefined : new WrongAnswer(url, statusCode, kindOf(incoming))
}

/** Reads no more of it than is needed. Gateways report errors of a provider as a success with JSON. */
export const readNotStream = (url: URL, incoming: IncomingMessage, tell: (cause: Error) => void): void => {
  const wrong = () => new WrongAnswer(url, incoming.statusCode ?? 0, kindOf(incoming))
  if (!/json/i.test(kindOf(incoming))) return tell(wrong())
  const pieces: Array<Buffer> = []
  let size = 0
  const end = () => tell(wrong())
  incoming.on("data", (bytes: Buffer) => {
    pieces.push(bytes)
    size += bytes.length
    const found = meaning(url, incoming, Buffer.concat(pieces).toString())
    if (found !== undefined) tell(found)
    else if (size >= errorLimit) end()
  })
  incoming.on("end", end)
  incoming.on("error", end)
}
