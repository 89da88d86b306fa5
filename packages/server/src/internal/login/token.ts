/** Decides whether a request carries the token of the server, and proves to a client that the server has it. */
import * as Redacted from "effect/Redacted"
import { createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"

const scheme = /^bearer /i

/** Makes the check; how long it takes says nothing about the token. */
export const makeTokenCheck = (token: Redacted.Redacted) => {
  const expected = Buffer.from(Redacted.value(token))
  return ({ headers: { authorization = "" } }: IncomingMessage): boolean => {
    if (!scheme.test(authorization)) return false
    const given = Buffer.from(authorization.slice("Bearer ".length).trim())
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
}

/** HMAC-SHA256(token, nonce): only who has the token can answer so. */
export const prove = (token: Redacted.Redacted, nonce: string): string =>
  createHmac("sha256", Redacted.value(token)).update(nonce).digest("hex")
