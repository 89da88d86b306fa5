/** Proves that a client tells the server whose token it has from a stranger. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { expect, it } from "@effect/vitest"
import { dialledHost, directUrl, type HandshakeQuestion, handshakeText } from "@skein/api/Handshake"
import * as EventStream from "@skein/client/EventStream"
import * as LocalServer from "@skein/client/LocalServer"
import * as SkeinClient from "@skein/client/SkeinClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { createHmac } from "node:crypto"
import { createServer, type IncomingMessage, request as ask, type Server } from "node:http"
import { networkInterfaces } from "node:os"
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

/** Listens on `::1` at a port, and passes all that it gets on to 127.0.0.1 at that port, as another user may. */
const besideOn = (port: number, seen: Array<unknown>) =>
  Effect.acquireRelease(
    Effect.async<Server>((resume) => {
      const listening = createServer(({ headers, method, url = "/" }, response) => {
        seen.push(url)
        const onward = ask({ host: "127.0.0.1", port, method, path: url, headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers)
          answer.pipe(response)
        })
        response.req.pipe(onward)
      })
      listening.listen({ host: "::1", port, ipv6Only: true }, () => resume(Effect.succeed(listening)))
    }),
    (listening) => Effect.sync(() => listening.close().closeAllConnections())
  )

const hasIPv6 = Object.values(networkInterfaces()).flat().some((each) => each?.address === "::1")

it.live.skipIf(!hasIPv6)(
  "dials the address that localhost stands for, and proves that one",
  () =>
    Effect.gen(function*() {
      const { url } = yield* genuine
      const seen: Array<unknown> = []
      const { port } = new URL(url)
      yield* besideOn(Number(port), seen)
      const named = `http://localhost:${port}`
      expect(yield* LocalServer.provenVersion({ url: named, token })).toEqual(Option.some("1.0.0"))
      const asked: Array<unknown> = []
      const other = yield* served((request, response) => {
        asked.push(request.url)
        response.writeHead(404).end()
      })
      const { port: otherPort } = new URL(other.url)
      yield* besideOn(Number(otherPort), seen)
      const target = { url: `http://localhost:${otherPort}`, token: Redacted.make(token) }
      const client = yield* SkeinClient.make(target)
      yield* Effect.exit(client.server.about())
      yield* Effect.exit(Stream.runDrain(EventStream.events(target)))
      expect(asked).toEqual(["/v1/server", "/v1/events"])
      expect(seen).toEqual([])
      expect(dialledHost(directUrl("http://LOCALHOST.:1/"))).toBe("127.0.0.1:1")
      expect(directUrl("http://localhost.evil.test:1")).toBe("http://localhost.evil.test:1")
      expect(directUrl("https://localhost:1")).toBe("https://localhost:1")
    }).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer))
)
