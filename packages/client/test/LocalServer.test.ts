/** Proves that a client tells the server whose token it has from a stranger. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { expect, it } from "@effect/vitest"
import * as LocalServer from "@skein/client/LocalServer"
import * as Effect from "effect/Effect"
import { createHmac } from "node:crypto"
import { served } from "./support/served.ts"

const token = "0123456789abcdef0123456789abcdef"

const genuine = served((request, response) => {
  let body = ""
  request.setEncoding("utf8").on("data", (piece: string) => void (body += piece)).on("end", () => {
    const { nonce } = JSON.parse(body) as { readonly nonce: string }
    const answer = createHmac("sha256", token).update(nonce).digest("hex")
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ answer }))
  })
})

it.live("believes the server itself, and nobody who sends the question on to it", () =>
  Effect.gen(function*() {
    const { url } = yield* genuine
    const stranger = yield* served((request, response) =>
      response.writeHead(307, { location: `${url}${request.url}` }).end()
    )
    expect(yield* LocalServer.isGenuine({ url, token })).toBe(true)
    expect(yield* LocalServer.isGenuine({ url: stranger.url, token })).toBe(false)
  }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer)))
