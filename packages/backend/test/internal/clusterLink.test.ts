/** Proves that a client whose server goes away comes back at another one of its cluster, and gives no stranger the token. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { expect, it } from "@effect/vitest"
import { type HandshakeQuestion, handshakeText } from "@skein/api/Handshake"
import * as SkeinClient from "@skein/client/SkeinClient"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import { createHmac } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { makeLink } from "../../src/internal/server/Link.ts"
import { makePeers } from "../../src/internal/server/peers.ts"

const textOf = async (request: IncomingMessage): Promise<string> => {
  let text = ""
  for await (const piece of request) text += String(piece)
  return text
}

const json = (response: ServerResponse, body: object, status = 200): void => {
  const type = status === 200 ? "application/json" : "application/problem+json"
  response.writeHead(status, { "content-type": type }).end(JSON.stringify(body))
}

const runner = (url: string) => ({
  url,
  host: "h",
  port: 1,
  pid: 1,
  state: "alive",
  trees: 0,
  held: [],
  load: { running: 0, queued: 0, sent: 0, waiting: 0, lost: 0, takeovers: 0, asking: 0, moves: 0 },
  age: 1,
  silence: 1
})

const leaving = (reason: "cut" | "refused") => ({
  type: "urn:skein:ServerLeaving",
  title: "Not available",
  status: 503,
  detail: "This server is stopping.",
  reason
})

/** A server that proves to have its token, says who is in its cluster, and answers a request for ids with its name. */
const serving = (token: string, name: string, others: ReadonlyArray<string> = [], at = 0) => {
  const asked: Array<string> = []
  const tokens = new Set<string>()
  let refusal: object | undefined
  const server = createServer((request, response) => {
    const { headers: { authorization }, url = "" } = request
    if (authorization !== undefined) tokens.add(authorization)
    asked.push(url)
    switch (url.split("?")[0]) {
      case "/healthz":
        return json(response, { status: "ok" })
      case "/v1/server":
        return json(response, { version: "1", pid: 1, started: 1, cluster: true })
      case "/v1/cluster":
        return json(response, { runners: others.map(runner), waiting: [], takeovers: [] })
      case "/v1/handshake":
        return void textOf(request).then((text): void => {
          const said = handshakeText(JSON.parse(text) as HandshakeQuestion, "1")
          return json(response, { answer: createHmac("sha256", token).update(said).digest("hex"), version: "1" })
        })
      default:
        return refusal === undefined ? json(response, { items: [name] }) : json(response, refusal, 503)
    }
  })
  const listening = (port: number) =>
    Effect.promise(() => new Promise<void>((done) => server.listen(port, () => done())))
  const close = Effect.promise(() =>
    new Promise<void>((done) => {
      server.close(() => done())
      server.closeAllConnections()
    })
  )
  return Effect.acquireRelease(
    Effect.map(listening(at), () => {
      const { port } = server.address() as AddressInfo
      return {
        url: `http://127.0.0.1:${port}`,
        asked,
        tokens,
        close,
        again: listening(port),
        refuse: (problem: object | undefined) => void (refusal = problem)
      }
    }),
    () => Effect.suspend(() => server.listening ? close : Effect.void)
  )
}

const secret = Redacted.make("secret")

/** A link to the first of three servers. The second has the same token, the third another one. */
const world = Effect.gen(function*() {
  const second = yield* serving("secret", "second")
  const third = yield* serving("another", "third")
  const first = yield* serving("secret", "first", [third.url, second.url])
  const target = { url: first.url, token: secret, version: "1" }
  let isBack = false
  const locate = Effect.sync(() => isBack ? Option.some(target) : Option.none())
  const link = yield* makeLink({ server: target, locate, patience: 300 })
  yield* link.learning
  return { first, second, third, link, back: () => void (isBack = true) }
})

const ids = { urlParams: { of: "sessions", start: "s" } } as const

it.scopedLive("continues at a server of the cluster that has the token, and gives it to no other", () =>
  Effect.gen(function*() {
    const { first, link, second, third } = yield* world
    yield* first.close
    const found = yield* link.call("may be sent again", ({ server }) => server.ids(ids))
    expect(found.items).toEqual(["second"])
    expect(link.where().url).toBe(second.url)
    expect(third.asked).toContain("/v1/handshake")
    expect(third.tokens.size).toBe(0)
  }).pipe(Effect.provide(FetchHttpClient.layer)))

it.scopedLive("continues at a server that was named, before it has learned who is in the cluster", () =>
  Effect.gen(function*() {
    const [first, second, third] = [
      yield* serving("secret", "first"),
      yield* serving("another", "second"),
      yield* serving("secret", "third")
    ]
    const link = yield* makeLink({
      server: { url: first.url, token: secret, version: "1" },
      locate: Effect.succeedNone,
      others: [second.url, third.url],
      patience: 300
    })
    yield* first.close
    expect((yield* link.call("may be sent again", ({ server }) => server.ids(ids))).items).toEqual(["third"])
    expect(second.tokens.size).toBe(0)
    // It is in no cluster that this one would tell: the named ones stay known.
    yield* link.learning
    yield* Effect.zipRight(third.close, first.again)
    expect((yield* Effect.flip(link.call("is sent once", ({ server }) => server.ids(ids))))._tag).toBe("ServerGone")
  }).pipe(Effect.provide(FetchHttpClient.layer)))

it.scopedLive("waits for its own server longer than usual while the turn may continue at one with another token", () =>
  Effect.gen(function*() {
    const { back, first, link, second, third } = yield* world
    yield* Effect.zipRight(first.close, second.close)
    const call = (again: "may be sent again" | "waits for a turn") => link.call(again, ({ server }) => server.ids(ids))
    const waiting = yield* Effect.fork(call("waits for a turn"))
    // It is asked whether it runs once the patience is over.
    yield* Effect.repeat(Effect.yieldNow(), { until: () => third.asked.includes("/healthz") })
    yield* first.again
    back()
    expect((yield* Fiber.join(waiting)).items).toEqual(["first"])
    yield* Effect.zipRight(first.close, third.close)
    expect(yield* Effect.flip(call("waits for a turn"))).toMatchObject({
      _tag: "ServerGone",
      message: expect.stringContaining("start it again with `skein serve --cluster`")
    })
  }).pipe(Effect.provide(FetchHttpClient.layer)))

it.scoped("ends soon, and says why, once its own server has another token", () =>
  Effect.gen(function*() {
    const first = yield* serving("secret", "first")
    const target = { url: first.url, token: secret, version: "1" }
    let looks = 0
    const locate = Effect.sync(() => {
      looks++
      return Option.none()
    })
    const link = yield* makeLink({ server: target, locate, patience: 3_600_000 })
    yield* first.close
    const waiting = yield* Effect.fork(Effect.flip(link.call("waits for a turn", ({ server }) => server.ids(ids))))
    const turn = Effect.promise(() => new Promise<void>((resume) => setImmediate(resume)))
    const pass = Effect.zipRight(TestClock.adjust("50 millis"), turn)
    yield* Effect.repeat(pass, { until: () => looks > 0 })
    const following = yield* Effect.fork(Effect.flip(Effect.forever(Effect.delay(link.locate, "250 millis"))))
    const second = yield* serving("another", "second", [], Number(new URL(first.url).port))
    const polled = Effect.zip(Fiber.poll(waiting), Fiber.poll(following))
    yield* Effect.repeat(pass, { until: () => Effect.map(polled, (each) => each.every(Option.isSome)) })
    for (const error of [yield* Fiber.join(waiting), yield* Fiber.join(following)]) {
      expect(error).toMatchObject({
        _tag: "ServerRefused",
        message: expect.stringContaining(`The token of the server at ${first.url} has changed`)
      })
    }
    expect(second.tokens.size).toBe(0)
  }).pipe(Effect.provide(FetchHttpClient.layer)))

it.scopedLive("sends again what a stopping server has refused, and what may be sent again", () =>
  Effect.gen(function*() {
    const { first, link } = yield* world
    first.refuse(leaving("cut"))
    const call = (again: "may be sent again" | "is sent once") => link.call(again, ({ server }) => server.ids(ids))
    expect(yield* Effect.flip(call("is sent once"))).toMatchObject({
      _tag: "ServerGone",
      message: expect.stringContaining("broke before it answered")
    })
    expect((yield* call("may be sent again")).items).toEqual(["second"])
  }).pipe(Effect.provide(FetchHttpClient.layer)))

it.scopedLive.each(["HeldElsewhere", "NoRunner"])(
  "asks a cluster again that answers with %s",
  (kind) =>
    Effect.gen(function*() {
      const { first, link } = yield* world
      first.refuse({ ...leaving("refused"), type: `urn:skein:${kind}` })
      expect((yield* link.call("is sent once", ({ server }) => server.ids(ids))).items).toEqual(["second"])
    }).pipe(Effect.provide(FetchHttpClient.layer))
)

it.scopedLive("sends no token in the clear if it came by TLS", () =>
  Effect.gen(function*() {
    const second = yield* serving("secret", "second")
    const first = yield* serving("secret", "first", [second.url])
    const peers = yield* makePeers([])
    yield* peers.learn(yield* SkeinClient.make({ url: first.url, token: secret }))
    const from = (url: string) => peers.find({ url, token: secret, version: "1" })
    expect(Option.isNone(yield* from("https://skein.example"))).toBe(true)
    expect(second.tokens.size).toBe(0)
    expect(Option.isSome(yield* from("http://skein.example"))).toBe(true)
  }).pipe(Effect.provide(FetchHttpClient.layer)))
