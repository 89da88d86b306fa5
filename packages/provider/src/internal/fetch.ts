/**
 * A `fetch` for the AI SDK: an abort closes the socket, and a callback reports the connection. A success that is no
 * event stream is read, and is what it says instead.
 */
import type { AnswerBounds } from "@skein/domain/ConfigInfo"
import * as Option from "effect/Option"
import type { IncomingMessage } from "node:http"
import { Refusal, WrongAnswer } from "./errors.ts"
import { isError, makeEventFilter, type Protocol } from "./eventStream.ts"
import { errorLimit, isSuccess, type Send } from "./http.ts"
import { cleanBody, fields, parseJson } from "./json.ts"

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

/** What the AI SDK calls to reach a server. */
type Fetch = typeof globalThis.fetch

/** Who wants to know how a request goes. */
interface Listener {
  /** Called when it has a connection. */
  readonly connected: () => void
  /** Called when the server accepted it: a status that an error names later was made up by the AI SDK. */
  readonly accepted: () => void
  /** The body fails if an event exceeds these. */
  readonly bounds: AnswerBounds
}

const listeners = new WeakMap<AbortSignal, Listener>()

/** Listens to the request with this signal. */
export const listen = (signal: AbortSignal, listener: Listener): void => {
  listeners.set(signal, listener)
}

/** What the AI SDK gives to `fetch`: plain headers and a body of text. */
interface Init {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
  readonly signal?: AbortSignal
}

/** A `fetch` over this pool, for answers in this protocol. */
export const makeFetch = (send: Send, protocol: Protocol): Fetch => {
  const fetch = (input: string, { body = "", headers = {}, method = "GET", signal }: Init) =>
    new Promise<Response>((resolve, reject) => {
      const call = { url: new URL(input), method, headers, body: Buffer.from(cleanBody(body)) }
      const exchange = send(call, {
        connected: () => {
          if (signal !== undefined) listeners.get(signal)?.connected()
        },
        answered: (incoming) => {
          incoming.on("close", () => signal?.removeEventListener("abort", stop))
          if (isSuccess(incoming) && signal !== undefined) listeners.get(signal)?.accepted()
          if (!isNotStream(incoming)) return resolve(toResponse(incoming, signal, protocol))
          readNotStream(call.url, incoming, (cause) => {
            incoming.destroy()
            reject(cause)
          })
        },
        failed: reject
      })
      // The `signal` option of node:http would also hit a socket that went back to the pool.
      const stop = () => {
        exchange.close()
        reject(lostConnection())
      }
      signal?.addEventListener("abort", stop)
      if (signal?.aborted === true) stop()
    })
  return fetch as Fetch
}

/** The part of a response that the AI SDK reads; a real `Response` would cost a tenth of a short call. */
const toResponse = (
  incoming: IncomingMessage,
  signal: AbortSignal | undefined,
  protocol: Protocol
): Response => {
  const status = incoming.statusCode ?? 0
  const ok = isSuccess(incoming)
  const listener = signal === undefined ? undefined : listeners.get(signal)
  const headers = new Map(Object.entries(incoming.headersDistinct).map(([name, values]) => [name, values?.join(", ")]))
  const response = {
    ok,
    status,
    statusText: incoming.statusMessage ?? "",
    headers,
    body: ok
      ? toStream(incoming, Infinity, makeEventFilter(listener?.bounds, protocol))
      : toStream(incoming, errorLimit, asItIs)
  }
  return response as unknown as Response
}

const asItIs = (bytes: Buffer): Buffer => bytes

/** Reads only on demand, and then everything that has arrived; `filter` decides what to keep, or throws. */
const toStream = (
  incoming: IncomingMessage,
  limit: number,
  filter: (bytes: Buffer) => Buffer | string
): ReadableStream<Uint8Array> => {
  let failure: Error | undefined
  let wake: (() => void) | undefined
  let read = 0
  const notify = () => wake?.()
  incoming.on("readable", notify)
  incoming.on("end", notify)
  incoming.on("close", notify)
  incoming.on("error", (error) => {
    failure = error
    notify()
  })
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      for (;;) {
        const chunk: Buffer | null = incoming.read()
        if (chunk !== null) {
          read += chunk.length
          let kept: Buffer | string
          try {
            kept = filter(chunk)
          } catch (error) {
            controller.error(error)
            incoming.destroy()
            return
          }
          if (kept.length === 0) continue
          controller.enqueue(typeof kept === "string" ? Buffer.from(kept) : kept)
          if (read >= limit) {
            controller.close()
            incoming.destroy()
          }
          return
        }
        if (incoming.readableEnded || failure !== undefined || incoming.destroyed) break
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      if (incoming.readableEnded) controller.close()
      else controller.error(failure ?? lostConnection())
    },
    cancel() {
      incoming.destroy()
    }
  }, { highWaterMark: 0 })
}

/** The message for an answer that ended early without another reason. */
const lostConnection = (): Error => Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" })
