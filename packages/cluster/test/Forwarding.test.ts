import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { expect, it } from "@effect/vitest"
import { SessionStorage } from "@skein/core/SessionStorage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { createServer, request, type RequestListener, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { Cluster } from "../src/Cluster.ts"
import { makeForwarding } from "../src/Forwarding.ts"
import { makePeers } from "../src/internal/exchange.ts"
import { signatureHeader, signed } from "../src/internal/requests.ts"

const secret = Redacted.make("the secret of all")
const url = "http://10.0.0.1:4096"
const time = () => 1_700_000_000_000

const alone = Cluster.of({
  url,
  secret,
  time,
  leave: Effect.void,
  isFull: Effect.succeed(false),
  isUsed: () => false,
  others: Effect.succeed([]),
  status: Effect.die("not asked"),
  holder: () => Effect.succeed(undefined),
  place: () => Effect.succeed({ _tag: "Here" }),
  peers: makePeers({ secret, time }),
  answer: (asked) => Effect.succeed(asked._tag === "Room" ? { may: true, room: 3 } : undefined),
  isMoving: () => false,
  isUnfinished: () => Effect.succeed(false),
  hasLeft: () => Effect.succeed(false),
  release: () => Effect.succeed(false),
  bring: () => Effect.succeed(false)
})

const services = Layer.mergeAll(Layer.succeed(Cluster, alone), SessionStorage.layerMemory, NodeFileSystem.layer)

const json = { "content-type": "application/json" }

const listen = (answer: RequestListener) =>
  Effect.acquireRelease(
    Effect.async<Server>((resume) => {
      const listening = createServer(answer)
      listening.listen(0, "127.0.0.1", () => resume(Effect.succeed(listening)))
    }),
    (listening) => Effect.sync(() => listening.close().closeAllConnections())
  ).pipe(Effect.map((listening) => (listening.address() as AddressInfo).port))

/** A runner that answers with the bodies of requests, and knows how many it has answered itself. */
const runner = Effect.gen(function*() {
  const { isTrusted, route } = yield* makeForwarding({ largestBody: 1_000 })
  let count = 0
  const port = yield* listen((incoming, response) => {
    if (!isTrusted(incoming) && incoming.headers.authorization === undefined) {
      return void response.writeHead(401).end("no token")
    }
    route(incoming, response, () => {
      count += 1
      incoming.pipe(response)
    })
  })
  const send = (sent: { readonly method: string; readonly path: string; readonly body: string }, signature: string) =>
    Effect.async<{ readonly status: number | undefined; readonly answer: string }>((resume) => {
      const outgoing = request({
        port,
        host: "127.0.0.1",
        method: sent.method,
        path: sent.path,
        agent: false,
        headers: {
          ...(sent.body === "" ? {} : { "content-length": Buffer.byteLength(sent.body) }),
          [signatureHeader]: signature
        }
      })
      outgoing.on("response", (incoming) => {
        void text(incoming).then((answer) => resume(Effect.succeed({ status: incoming.statusCode, answer })))
      })
      outgoing.end(sent.body)
    })
  return { port, send, count: () => count }
})

const sign = (sent: { readonly method: string; readonly path: string; readonly body: string }) =>
  signed(secret, url, time(), { ...sent, headers: {}, body: Buffer.from(sent.body) })

const prompt = { method: "POST", path: "/v1/sessions/ses_1/prompt", body: "{\"text\":\"summarize\"}" }

it.scopedLive("a request of another runner is answered here once, and only with the body that it signed", () =>
  Effect.gen(function*() {
    const { count, send } = yield* runner
    const signature = sign(prompt)
    expect(yield* send({ ...prompt, body: "{\"text\":\"delete it\"}" }, signature)).toMatchObject({
      status: 401,
      answer: expect.stringContaining("changed on the way")
    })
    expect(count()).toBe(0)
    expect(yield* send(prompt, signature)).toMatchObject({ status: 401, answer: "no token" })
    expect(yield* send(prompt, sign(prompt))).toEqual({ status: 200, answer: prompt.body })
    expect(count()).toBe(1)
    const none = { ...prompt, method: "GET", body: "" }
    expect(yield* send({ ...none, body: "smuggled" }, sign(none))).toMatchObject({ status: 401 })
    expect(yield* send(none, sign(none))).toEqual({ status: 200, answer: "" })
    expect(count()).toBe(2)
  }).pipe(Effect.provide(services)))

it.scopedLive("only another runner is told how much room there is", () =>
  Effect.gen(function*() {
    const { count, send } = yield* runner
    const room = { method: "GET", path: "/v1/cluster/room/ses_1", body: "" }
    const { answer } = yield* send(room, sign(room))
    expect(JSON.parse(answer)).toEqual({ may: true, room: 3 })
    const offer = { method: "POST", path: "/v1/cluster/offer/ses_1/2", body: "" }
    expect(yield* send(offer, sign(offer))).toMatchObject({ status: 409 })
    expect(yield* send(offer, sign(room))).toMatchObject({ status: 401, answer: "no token" })
    expect(count()).toBe(0)
  }).pipe(Effect.provide(services)))

it.scopedLive("the questions of servers that do not answer are said to be missing", () =>
  Effect.gen(function*() {
    const items = [{ id: "ask_1" }]
    const own = yield* listen((_, response) => void response.writeHead(200, json).end(JSON.stringify({ items })))
    const gone = { owner: "other", url: "http://127.0.0.1:9", load: "{}", proof: "", age: 1, silence: 1 }
    const two = { ...alone, url: `http://127.0.0.1:${own}`, others: Effect.succeed([gone]) }
    const { port } = yield* Effect.provideService(runner, Cluster, two)
    const asked = fetch(`http://127.0.0.1:${port}/v1/asks`, { headers: { authorization: "Bearer token" } })
    expect(yield* Effect.promise(() => asked.then((answer) => answer.json()))).toEqual({ items, unreached: [gone.url] })
  }).pipe(Effect.provide(services)))

it.scopedLive("a session begins where its directory is, with the same key everywhere, or the error names who was silent", () =>
  Effect.gen(function*() {
    const keys: Array<unknown> = []
    const noting = (status: number, kind: string) =>
      listen(({ headers }, response) => {
        keys.push(headers["idempotency-key"])
        response.writeHead(status, json).end(JSON.stringify({ type: `urn:skein:${kind}` }))
      })
    const at = (port: number) => ({
      owner: `other-${port}`,
      url: `http://127.0.0.1:${port}`,
      load: "{}",
      proof: "",
      age: 1,
      silence: 1
    })
    const [lacking, having] = [yield* noting(422, "NoDirectory"), yield* noting(201, "Begun")]
    const begin = (others: ReadonlyArray<number>) =>
      Effect.scoped(Effect.gen(function*() {
        const few = { ...alone, others: Effect.succeed(others.map(at)) }
        const { port } = yield* Effect.provideService(runner, Cluster, few)
        const begun = fetch(`http://127.0.0.1:${port}/v1/sessions`, {
          method: "POST",
          headers: { authorization: "Bearer token", "content-type": "application/json" },
          body: JSON.stringify({ directory: "/is/not/here" })
        })
        return yield* Effect.promise(() => begun.then(async (answer) => [answer.status, await answer.json()]))
      }))
    expect(yield* begin([lacking, having])).toEqual([201, { type: "urn:skein:Begun" }])
    expect(keys).toEqual([expect.stringMatching(/^cluster-/), keys[0]])
    // Nobody has it: it is answered here.
    expect(yield* begin([lacking])).toEqual([200, { directory: "/is/not/here" }])
    const [status, said] = yield* begin([9, lacking])
    expect(status).toBe(503)
    expect(said).toMatchObject({ type: "urn:skein:RunnerLost", detail: expect.stringContaining("http://127.0.0.1:9,") })
  }).pipe(Effect.provide(services)))
