import { expect, it } from "@effect/vitest"
import * as Redacted from "effect/Redacted"
import type { IncomingMessage } from "node:http"
import { isSigned, signatureHeader, signed } from "../../src/internal/signature.ts"

const secret = Redacted.make("the secret of all")
const now = 1_700_000_000_000

const request = (signature: string, method = "POST", url = "/v1/sessions/ses_1/prompt?wait=true") =>
  ({ method, url, headers: { [signatureHeader]: signature } }) as unknown as IncomingMessage

it("a request is signed for its method, its path and its time", () => {
  const signature = signed(secret, now, "POST", "/v1/sessions/ses_1/prompt?wait=true")
  expect(isSigned(secret, now, request(signature))).toBe(true)
  expect(isSigned(secret, now + 59_000, request(signature))).toBe(true)
  expect(isSigned(secret, now + 61_000, request(signature))).toBe(false)
  expect(isSigned(secret, now - 61_000, request(signature))).toBe(false)
  expect(isSigned(secret, now, request(signature, "DELETE"))).toBe(false)
  expect(isSigned(secret, now, request(signature, "POST", "/v1/sessions/ses_2/prompt?wait=true"))).toBe(false)
  expect(isSigned(Redacted.make("another"), now, request(signature))).toBe(false)
})

it.each(["", "1.2", `${now}.`, `${now}.${"0".repeat(64)}`, `9.${"0".repeat(63)}g`])("%j signs nothing", (signature) => {
  expect(isSigned(secret, now, request(signature))).toBe(false)
})
