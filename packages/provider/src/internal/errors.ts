/** What a request can fail with, beside the errors of sockets and of the AI SDK; `failure.ts` judges them. */
import type { IncomingMessage } from "node:http"

/** A stream that broke its rules. */
export class BrokenStream extends Error {
  readonly reason: "bad_response" | "empty_response"
  constructor(reason: "bad_response" | "empty_response", message: string) {
    super(message)
    this.reason = reason
  }
}

/** The connection did not come about. */
export class NoConnection extends Error {
  readonly code: string
  readonly url: URL
  constructor(url: URL, cause: NodeJS.ErrnoException) {
    super(cause.message, { cause })
    this.code = cause.code ?? "ECONNRESET"
    this.url = url
  }
}

/** A success of another kind than a stream of events: whatever answers at this address is no such API. */
export class WrongAnswer extends Error {
  readonly url: URL
  readonly status: number
  readonly kind: string
  constructor(url: URL, status: number, kind: string) {
    super(`${url.href} answered ${status} with ${kind}`)
    this.url = url
    this.status = status
    this.kind = kind
  }
}

/** A piece of a stream that is not JSON, then `data` is its text, or that has an unknown shape. */
export class UnreadableChunk extends Error {
  readonly data: unknown
  constructor(data: unknown) {
    super(typeof data === "string" ? `no JSON: ${data}` : "a piece of it has an unknown shape")
    this.data = data
  }
}

/** An answer that is no success, in the words of the AI SDK. */
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

/** An answer that holds more than one may; the message says of what. */
export class TooLarge extends Error {}

/** A request that the API has no words for. */
export class Unaskable extends Error {
  /** How to mend it, where that is not plain. */
  readonly mend: string | undefined
  constructor(message: string, mend?: string) {
    super(message)
    this.mend = mend
  }
}
