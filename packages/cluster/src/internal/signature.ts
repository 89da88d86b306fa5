/** Decides which requests come from a runner of the same cluster: it signs them with what all of them know. */
import * as Redacted from "effect/Redacted"
import { createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"

/** The header of a request that another runner has sent on. */
export const signatureHeader = "skein-cluster"

/** How far the clocks of runners may be apart, and how long a request may be on its way, in milliseconds. */
const tolerance = 60_000

const sign = (secret: Redacted.Redacted, time: number, method: string, path: string): string =>
  createHmac("sha256", Redacted.value(secret)).update(`${time} ${method} ${path}`).digest("hex")

/** The header for a request. */
export const signed = (secret: Redacted.Redacted, now: number, method: string, path: string): string =>
  `${now}.${sign(secret, now, method, path)}`

/** Whether a request carries such a header. */
export const isSigned = (secret: Redacted.Redacted, now: number, request: IncomingMessage): boolean => {
  const given = request.headers[signatureHeader]
  const [, time, proof = ""] = /^(\d{1,15})\.([0-9a-f]{64})$/.exec(typeof given === "string" ? given : "") ?? []
  if (time === undefined || Math.abs(now - Number(time)) > tolerance) return false
  const expected = sign(secret, Number(time), request.method ?? "", request.url ?? "")
  return timingSafeEqual(Buffer.from(proof), Buffer.from(expected))
}
