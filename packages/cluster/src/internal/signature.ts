/** Decides which requests come from a runner of the same cluster: each is signed for one runner, and accepted once. */
import * as Redacted from "effect/Redacted"
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import type { IncomingHttpHeaders, IncomingMessage } from "node:http"
import type { Sent } from "./requests.ts"

/** The header of a request that another runner has sent on. */
export const signatureHeader = "skein-cluster"

/** The headers that are sent on. All of them are signed, so nobody on the way can add or change one. */
const carried = [
  "accept",
  "b3",
  "content-encoding",
  "content-type",
  "idempotency-key",
  "last-event-id",
  "traceparent",
  "tracestate"
] as const

/** Those of the headers that are sent on. */
export const carriedHeaders = (headers: IncomingHttpHeaders): Readonly<Record<string, string>> =>
  Object.fromEntries(carried.flatMap((name) => {
    const value = headers[name]
    return typeof value === "string" ? [[name, value]] : []
  }))

/** How long a request may be on its way, in milliseconds. */
const tolerance = 60_000

/** How far the times of two runners may be apart: both take theirs from the database. */
const slack = 2_000

const hashOf = (body: Buffer): string => createHash("sha256").update(body).digest("hex")

/** What a request says. */
interface Content {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The hash of its body. */
  readonly hash: string
}

const sign = (
  secret: Redacted.Redacted,
  target: string,
  time: number,
  nonce: string,
  { hash, headers, method, path }: Content
): string =>
  createHmac("sha256", Redacted.value(secret))
    .update(JSON.stringify([target, time, nonce, method, path, hash, carriedHeaders(headers)]))
    .digest("hex")

/** The header of a request to the runner at `target`. */
export const signed = (secret: Redacted.Redacted, target: string, time: number, sent: Sent): string => {
  const nonce = randomBytes(16).toString("hex")
  const hash = hashOf(sent.body)
  return `${time}.${nonce}.${hash}.${sign(secret, target, time, nonce, { ...sent, hash })}`
}

const form = /^(?<time>[1-9]\d{0,14})\.(?<nonce>[0-9a-f]{32})\.(?<hash>[0-9a-f]{64})\.(?<proof>[0-9a-f]{64})$/

/** Checks the requests that reach a runner. */
export interface SignatureCheck {
  /** Whether another runner has signed it, for this one, and it came for the first time. Asked again, it says the same. */
  readonly isSigned: (request: IncomingMessage) => boolean
  /** Whether this is the body that was signed. */
  readonly isBody: (request: IncomingMessage, body: Buffer) => boolean
}

/** Makes it for the runner at `url`. `time` is that of the database. */
export const makeSignatureCheck = (
  { secret, time: now, url }: {
    readonly secret: Redacted.Redacted
    readonly url: string
    readonly time: () => number
  }
): SignatureCheck => {
  const began = now()
  /** When each nonce came, the oldest first. */
  const seen = new Map<string, number>()
  /** The hash of the body of each request that was accepted; none of one that was not. */
  const known = new WeakMap<IncomingMessage, string | undefined>()

  const isFirst = (nonce: string): boolean => {
    const present = now()
    for (const [each, came] of seen) {
      if (present - came <= 2 * tolerance) break
      seen.delete(each)
    }
    if (seen.has(nonce)) return false
    seen.set(nonce, present)
    return true
  }

  const accepted = ({ headers, method = "", url: path = "" }: IncomingMessage): string | undefined => {
    const given = headers[signatureHeader]
    const { hash, nonce, proof, time: written } = form.exec(typeof given === "string" ? given : "")?.groups ?? {}
    if (
      hash === undefined || nonce === undefined || proof === undefined || headers["transfer-encoding"] !== undefined
    ) {
      return undefined
    }
    const time = Number(written)
    // What was signed before this runner began may have been accepted by the one before it.
    if (Math.abs(now() - time) > tolerance || time < began - slack) return undefined
    const expected = sign(secret, url, time, nonce, { method, path, headers, hash })
    return timingSafeEqual(Buffer.from(proof), Buffer.from(expected)) && isFirst(nonce) ? hash : undefined
  }

  const look = (request: IncomingMessage): string | undefined => {
    if (!known.has(request)) known.set(request, accepted(request))
    return known.get(request)
  }

  return {
    isSigned: (request) => look(request) !== undefined,
    isBody: (request, body) => look(request) === hashOf(body)
  }
}
