import { expect, it } from "@effect/vitest"
import type { SessionID } from "@skein/domain/Id"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Redacted from "effect/Redacted"
import { createServer, request, type RequestListener, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { Cluster } from "../../src/Cluster.ts"
import { makePeers } from "../../src/internal/exchange.ts"
import { makeFollow } from "../../src/internal/follow.ts"
import { sentOf } from "../../src/internal/requests.ts"

const secret = Redacted.make("the secret of all")
const rootID = "ses_1" as SessionID

const listen = (answer: RequestListener) =>
  Effect.acquireRelease(
    Effect.async<Server>((resume) => {
      const listening = createServer(answer)
      listening.listen(0, "127.0.0.1", () => resume(Effect.succeed(listening)))
    }),
    (listening) => Effect.sync(() => listening.close().closeAllConnections())
  ).pipe(Effect.map((listening) => `http://127.0.0.1:${(listening.address() as AddressInfo).port}`))

/**
 * A runner that sends everything on to another one, which falls silent when it is told. That one has the lease of the tree,
 * and is in the table of servers.
 */
const beforeSilence = Effect.fnUntraced(function*(begin: (response: ServerResponse, fall: () => void) => void) {
  const fallen = yield* Deferred.make<void>()
  const fall = () => Deferred.unsafeDone(fallen, Effect.void)
  const holder = yield* listen((_, response) => begin(response, fall))
  const cluster = Cluster.of({
    url: "http://10.0.0.1:4096",
    secret,
    time: () => 0,
    leave: Effect.void,
    isFull: Effect.succeed(false),
    isUsed: () => false,
    others: Effect.succeed([{ owner: "other", url: holder, load: "{}", proof: "", age: 1, silence: 1 }]),
    status: Effect.die("not asked"),
    holder: () => Effect.succeed(holder),
    place: () => Effect.succeed({ _tag: "Here" }),
    peers: makePeers({ secret, time: () => 0 }),
    answer: () => Effect.succeed(undefined),
    isMoving: () => false,
    isUnfinished: () => Effect.succeed(false),
    hasLeft: () => Effect.succeed(false),
    release: () => Effect.succeed(false),
    bring: () => Effect.succeed(false)
  })
  const follow = makeFollow(cluster, () => "signature", () => Deferred.await(fallen))
  const run = yield* FiberSet.makeRuntime<never>()
  const url = yield* listen((incoming, response) =>
    void run(Effect.orDie(follow(rootID, sentOf(incoming, Buffer.alloc(0)), response)))
  )
  const send = (method: string, path: string) =>
    Effect.async<{ readonly status: number | undefined; readonly body: string }>((resume) => {
      const outgoing = request(new URL(path, url), { method, agent: false })
      outgoing.once("response", (incoming) => {
        if (incoming.statusCode === 200) fall()
        void text(incoming).then(
          (body) => resume(Effect.succeed({ status: incoming.statusCode, body })),
          () => resume(Effect.succeed({ status: incoming.statusCode, body: "cut off" }))
        )
      })
      outgoing.end()
    })
  return { holder, send }
})

it.scopedLive.each<readonly [method: string, path: string, kind: string, advice: string]>([
  ["GET", "/v1/sessions/ses_1/messages", "NoRunner", "Check the network"],
  ["GET", "/v1/sessions/ses_1/rest", "NoRunner", "Check the network"],
  ["PATCH", "/v1/sessions/ses_1", "RunnerLost", "Check before you retry"]
])(
  "%s %s gets a problem if the server of its tree falls silent",
  ([method, path, kind, advice]) =>
    Effect.gen(function*() {
      const { holder, send } = yield* beforeSilence((_, fall) => fall())
      const { body, status } = yield* send(method, path)
      expect(status).toBe(503)
      expect(JSON.parse(body)).toMatchObject({ type: `urn:skein:${kind}`, detail: expect.stringContaining(holder) })
      expect(body).toContain(advice)
    })
)

it.scopedLive("an answer that has begun is cut off if the server that gives it falls silent", () =>
  Effect.gen(function*() {
    const { send } = yield* beforeSilence((response) => void response.writeHead(200).write("first\n"))
    expect(yield* send("GET", "/v1/sessions/ses_1/events")).toEqual({ status: 200, body: "cut off" })
  }))
