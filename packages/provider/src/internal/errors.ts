/**
 * Errors of a request, besides those of sockets and of the AI SDK, and why a server cannot be reached. `failure.ts`
 * classifies them.
 */
import type { ModelErrorReason } from "@skein/core/Provider"
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

/** A failure: what happened, how to fix it, and how often to retry. */
export interface Verdict {
  readonly reason: typeof ModelErrorReason.Type
  readonly retryable: boolean
  /** What happened. */
  readonly says: string
  /** How to fix it, if that is not obvious. */
  readonly advice?: string
  /** The maximum number of tries, if less than usual. */
  readonly tries?: number
}

/** Which setting holds the base URL. */
export interface Address {
  /** `provider/model`. */
  readonly model: string
  readonly baseUrl?: string | undefined
  /** The variable that can override the base URL. */
  readonly baseUrlName?: string | undefined
}

/** A wrong address fails at once. One more try covers a server that is starting, or that erred once. */
const triesForAddress = 2

/** Names the setting that holds the address. */
export const settingOf = ({ baseUrlName, model }: Address): string => {
  const setting = `provider.${model.split("/", 1)[0]}.base_url`
  return baseUrlName === undefined ? setting : `${setting} or ${baseUrlName}`
}

/** A hint at what base URLs often lack. */
export const versionHint = ({ baseUrl }: Address): string =>
  baseUrl === undefined || /\/v\d/.test(baseUrl) ? "" : ` ${baseUrl} does not end in /v1, as most do.`

/** A URL without its secret parts. */
const plain = ({ host, pathname, protocol }: URL): string => `${protocol}//${host}${pathname}`

const local = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** Whether a URL points to this machine. */
export const isLocal = (url: string): boolean => URL.canParse(url) && local.test(new URL(url).hostname)

/** What a socket says if there was no connection at all. */
const unconnected = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/

const certificates = /^(CERT|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|ERR_TLS_CERT)/

/** A socket error, before or after the connection was established. */
export const unreachable = (code: string, cause: unknown, address: Address): Verdict => {
  const setting = settingOf(address)
  if (!(cause instanceof NoConnection)) {
    // A client of its own may not say where it wanted to connect.
    const says = unconnected.test(code) ? `could not be reached (${code})` : `lost the connection (${code})`
    return { reason: "network", retryable: true, says }
  }
  const { url } = cause
  const failed = (what: string, advice: string, more: Partial<Verdict> = {}): Verdict => ({
    reason: "network",
    retryable: true,
    says: `could not be reached: ${what} (${code})`,
    advice,
    ...more
  })
  const fewer = { tries: triesForAddress }
  if (code === "ECONNREFUSED") {
    return failed(
      `${url.host} refused the connection`,
      `Start the server, or set ${setting} to where it listens.`,
      isLocal(url.href) ? fewer : {}
    )
  }
  if (code === "ENOTFOUND") {
    return failed(`there is no host ${url.hostname}`, `Check the network and the host in ${setting}.`, fewer)
  }
  if (code === "EAI_AGAIN") {
    return failed(`the host ${url.hostname} could not be looked up`, `Check the network and the host in ${setting}.`)
  }
  if (certificates.test(code)) {
    const advice = `For a private authority set NODE_EXTRA_CA_CERTS, or check the host in ${setting}.`
    return failed(`the certificate of ${url.host} is not trusted`, advice, { retryable: false })
  }
  if (code === "EPROTO" || code.startsWith("ERR_SSL")) {
    return failed(`${url.host} does not speak TLS`, `Use http:// in ${setting}.`, { retryable: false })
  }
  return failed(`the connection to ${url.host} failed`, `If this persists, check ${setting}.`)
}

/** A success that is not an event stream. A page means another server; JSON may be one bad answer of the right one. */
export const wrongAnswer = ({ isWhole, kind, status, url }: WrongAnswer, address: Address): Verdict =>
  isWhole
    ? {
      reason: "bad_response",
      retryable: false,
      says: `does not stream: ${plain(url)} answered ${status} with a whole answer as ${kind}`,
      advice: `Turn on streaming at that server, or set ${settingOf(address)} to one that streams.`
    }
    : {
      reason: "bad_response",
      retryable: /json/i.test(kind),
      says: `did not get an event stream: ${plain(url)} answered ${status} with ${kind}`,
      advice: `Set ${settingOf(address)} to the address of the API itself.${versionHint(address)}`
    }
