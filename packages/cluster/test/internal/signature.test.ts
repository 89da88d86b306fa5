import { expect, it } from "@effect/vitest"
import * as Redacted from "effect/Redacted"
import type { IncomingHttpHeaders, IncomingMessage } from "node:http"
import { makeSignatureCheck, type Sent, signatureHeader, signed } from "../../src/internal/requests.ts"

const secret = Redacted.make("the secret of all")
const began = 1_700_000_000_000
const url = "http://10.0.0.1:4096"

const sent: Sent = {
  method: "POST",
  path: "/v1/sessions/ses_1/prompt?wait=true",
  headers: { "content-type": "application/json", "idempotency-key": "one", "x-other": "is not sent on" },
  body: Buffer.from("{\"text\":\"hello\"}")
}

const request = (
  signature: string,
  { headers = sent.headers, method = sent.method, path = sent.path }: Partial<Sent> = {}
) => ({ method, url: path, headers: { ...headers, [signatureHeader]: signature } }) as unknown as IncomingMessage

/** A runner that began two minutes ago, and its clock. */
const runner = (options: { readonly secret?: Redacted.Redacted; readonly url?: string } = {}) => {
  const at = { time: began - 120_000 }
  const check = makeSignatureCheck({ secret, url, ...options, time: () => at.time })
  at.time = began
  return { at, check, accepts: (each: IncomingMessage) => check.isSigned(each) }
}

const sign = (time = began, content: Sent = sent) => signed(secret, url, time, content)

it("a request is signed for its method, its path, its headers and its body", () => {
  const { accepts, check } = runner()
  const changed: ReadonlyArray<Partial<Sent>> = [
    { method: "DELETE" },
    { path: "/v1/sessions/ses_2/prompt?wait=true" },
    { headers: { ...sent.headers, "idempotency-key": "two" } },
    { headers: { "content-type": "application/json" } },
    { headers: { ...sent.headers, "last-event-id": "9" } },
    { headers: { ...sent.headers, "transfer-encoding": "chunked" } satisfies IncomingHttpHeaders }
  ]
  for (const change of changed) expect(accepts(request(sign(), change)), JSON.stringify(change)).toBe(false)
  const good = request(sign())
  expect(accepts(good)).toBe(true)
  expect(check.isBody(good, sent.body)).toBe(true)
  expect(check.isBody(good, Buffer.from("{\"mode\":\"auto\"}"))).toBe(false)
  expect(check.isBody(request(sign(), { method: "DELETE" }), sent.body)).toBe(false)
})

it("a request is accepted once, by the runner that it was signed for", () => {
  const { accepts } = runner()
  const signature = sign()
  expect(runner({ url: "http://10.0.0.2:4096" }).accepts(request(signature))).toBe(false)
  expect(runner({ secret: Redacted.make("another") }).accepts(request(signature))).toBe(false)
  const first = request(signature)
  expect([accepts(first), accepts(first)]).toEqual([true, true])
  expect(accepts(request(signature))).toBe(false)
  expect(accepts(request(sign()))).toBe(true)
})

it("a request may be on its way for a minute, and does not outlive the runner that it was sent to", () => {
  const { accepts, at } = runner()
  const [early, late, again] = [sign(), sign(), sign()]
  at.time = began + 59_000
  expect(accepts(request(early))).toBe(true)
  at.time = began + 61_000
  expect([accepts(request(late)), accepts(request(early))]).toEqual([false, false])
  expect(accepts(request(sign(began + 122_000)))).toBe(false)
  at.time = began
  const next = makeSignatureCheck({ secret, url, time: () => began + 3_000 })
  expect(next.isSigned(request(again))).toBe(false)
  expect(next.isSigned(request(sign(began + 3_001)))).toBe(true)
})

it("nonces are remembered for as long as their signatures could be accepted", () => {
  const { accepts, at } = runner()
  const ahead = sign(began + 59_000)
  expect(accepts(request(ahead))).toBe(true)
  at.time = began + 118_000
  expect(accepts(request(ahead))).toBe(false)
})

it.each([
  ["nothing", ""],
  ["two numbers", "1.2"],
  ["no proof", `${began}.`],
  ["the form of older versions", `${began}.${"0".repeat(64)}`],
  ["a proof with another character", sign().replace(/.$/, "g")],
  ["a time with a zero before it", `0${sign()}`],
  ["a space at the end", `${sign()} `]
])("a header signs nothing: %s", (_, signature) => {
  expect(runner().accepts(request(signature))).toBe(false)
})
