/** Proves that an answer that is not of the API is reported in one line. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { expect, it } from "@effect/vitest"
import * as SkeinClient from "@skein/client/SkeinClient"
import { unexpectedText } from "@skein/client/Unexpected"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { served } from "./support/served.ts"

const form = "the answer does not have the form of the API: "

it.live.each<[string, unknown, string]>([
  ["another value", { items: "none" }, `${form}items: "none" is unexpected`],
  ["nothing", null, `${form}null is unexpected`],
  ["a missing field", { items: [{ id: "ses_1" }] }, `${form}items.0.`],
  ["a long value", "x".repeat(10_000), `${form}"xxxx`]
])("%s", ([, body, said]) =>
  Effect.gen(function*() {
    const { url } = yield* served((_, response) =>
      void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body))
    )
    const client = yield* SkeinClient.make({ url, token: Redacted.make("secret") })
    const text = unexpectedText(yield* Effect.flip(client.sessions.list({ urlParams: {} })))
    expect(text).toContain(said)
    expect(text).not.toContain("\n")
    expect(text.length).toBeLessThan(400)
  }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer)))
