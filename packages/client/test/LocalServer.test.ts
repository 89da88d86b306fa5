/** Proves that a client tells the server whose token it has from a stranger. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { expect, it } from "@effect/vitest"
import { type HandshakeQuestion, handshakeText } from "@skein/api/Handshake"
import * as LocalServer from "@skein/client/LocalServer"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { createHmac } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { served } from "./support/served.ts"

const token = "0123456789abcdef0123456789abcdef"

const port = (request: IncomingMessage) => request.socket.localPort

/** Answers as a server does: for its own address alone. */
const genuine = served((request, response) => {
  let body = ""
  request.setEncoding("utf8").on("data", (piece: string) => void (body += piece)).on("end", () => {
    const question = JSON.parse(body) as HandshakeQuestion
    if (question.host !== `127.0.0.1:${port(request)}`) return void response.writeHead(403).end()
    const answer = createHmac("sha256", token).update(handshakeText(question, "1.0.0")).digest("hex")
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ answer, version: "1.0.0" }))
  })
})

/** Passes a question on as it is, or as `change` makes it. */
const relay = (url: string, change: (question: HandshakeQuestion) => HandshakeQuestion) =>
  served((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (piece: string) => void (body += piece)).on("end", () => {
      void fetch(`${url}/v1/handshake`, { method: "POST", body: JSON.stringify(change(JSON.parse(body))) })
        .then(async (answer) => response.writeHead(answer.status).end(await answer.text()))
    })
  })

it.live("believes the server itself, and nobody who sends the question on to it", () =>
  Effect.gen(function*() {
    const { url } = yield* genuine
    const redirecting = yield* served((request, response) =>
      response.writeHead(307, { location: `${url}${request.url}` }).end()
    )
    const plain = yield* relay(url, (question) => question)
    const renaming = yield* relay(url, (question) => ({ ...question, host: new URL(url).host }))
    expect(yield* LocalServer.provenVersion({ url, token })).toEqual(Option.some("1.0.0"))
    for (const stranger of [redirecting, plain, renaming]) {
      expect(yield* LocalServer.isGenuine({ url: stranger.url, token })).toBe(false)
    }
  }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer)))
