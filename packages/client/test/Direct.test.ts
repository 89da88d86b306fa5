/** Proves that a client asks the server that it was told of, and nobody to whom an answer leads. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { expect, it } from "@effect/vitest"
import * as SkeinClient from "@skein/client/SkeinClient"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { served } from "./support/served.ts"

it.live.each([301, 302, 303, 307, 308])(
  "a request is not repeated where a redirect with %d leads",
  (status) =>
    Effect.gen(function*() {
      const asked: Array<unknown> = []
      const genuine = yield* served(({ headers, method, url }, response) => {
        asked.push([method, url, headers.authorization])
        response.writeHead(204).end()
      })
      const impostor = yield* served((_, response) =>
        response.writeHead(status, { location: `${genuine.url}/v1/sessions/ses_victim` }).end()
      )
      const client = yield* SkeinClient.make({ url: impostor.url, token: Redacted.make("secret") })
      const refused = yield* Effect.flip(client.sessions.remove({ path: { id: "ses_own" } }))
      expect(refused).toMatchObject({ _tag: "ResponseError", reason: "StatusCode" })
      expect(String(refused)).toContain("which Skein does not follow")
      expect(asked).toEqual([])
    }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))
)
