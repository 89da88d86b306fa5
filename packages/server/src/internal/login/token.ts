/** Checks whether a request carries the server's token, and proves to a client that the server has it. */
import { type HandshakeQuestion, handshakeText } from "@skein/api/Handshake"
import * as Redacted from "effect/Redacted"
import { createHmac, timingSafeEqual } from "node:crypto"
import type { IncomingMessage } from "node:http"

const scheme = /^bearer /i

/** Makes the check. Its duration reveals nothing about the token. */
export const makeTokenCheck = (token: Redacted.Redacted) => {
  const expected = Buffer.from(Redacted.value(token))
  return ({ headers: { authorization = "" } }: IncomingMessage): boolean => {
    if (!scheme.test(authorization)) return false
    const given = Buffer.from(authorization.slice("Bearer ".length).trim())
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
}

/** The answer to a handshake: only a server with the token can give it. */
export const prove = (token: Redacted.Redacted, question: HandshakeQuestion, version: string): string =>
  createHmac("sha256", Redacted.value(token)).update(handshakeText(question, version)).digest("hex")
