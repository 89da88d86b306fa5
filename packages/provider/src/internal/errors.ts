/** Errors of a request, besides those of sockets and of the AI SDK. `failure.ts` classifies them. */
import type { IncomingMessage } from "node:http"

/** The stream violated its protocol. */
export class BrokenStream extends Error {
  readonly reason: "bad_response" | "empty_response"
  constructor(reason: "bad_response" | "empty_response", message: string) {
    super(message)
    this.reason = reason
  }
}

/** The connection was not established. */
export class NoConnection extends Error {
  readonly code: string
  readonly url: URL
  constructor(url: URL, cause: NodeJS.ErrnoException) {
    super(cause.message, { cause })
    this.code = cause.code ?? "ECONNRESET"
    this.url = url
  }
}

/** A success that is not an event stream: this address does not serve the API. */
export class WrongAnswer extends Error {
  readonly url: URL
  readonly status: number
  readonly kind: string
  /** Whether it is an answer of the API all the same, but a whole one. */
  readonly isWhole: boolean
  constructor(url: URL, status: number, kind: string, isWhole = false) {
    super(`${url.href} answered ${status} with ${kind}`)
    this.url = url
    this.status = status
    this.kind = kind
    this.isWhole = isWhole
  }
}

/** A chunk of a stream that is not JSON (`data` is then its text) or has an unknown shape. */
export class UnreadableChunk extends Error {
  readonly data: unknown
  constructor(data: unknown) {
    super(typeof data === "string" ? `no JSON: ${data}` : "a chunk has an unknown shape")
    this.data = data
  }
}

/** An HTTP error, in the shape that the AI SDK uses; also an error that came as a success. */
export class Refusal extends Error {
  readonly statusCode: number
  readonly responseHeaders: Readonly<Record<string, unknown>>
  readonly responseBody: string
  constructor({ headers, statusCode = 0, statusMessage = "" }: IncomingMessage, body: string) {
    super(statusMessage)
    this.statusCode = statusCode
    this.responseHeaders = headers
    this.responseBody = body
  }
}

/** The answer exceeds a limit; the message says which. */
export class TooLarge extends Error {}

/** A request that this API cannot express. */
export class Unaskable extends Error {
  /** How to fix it, if that is not obvious. */
  readonly advice: string | undefined
  constructor(message: string, advice?: string) {
    super(message)
    this.advice = advice
  }
}
