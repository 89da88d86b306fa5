/** Proves that what listens where another server was cannot say more to a client than a server of the API does. */
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { exchange, type Outcome, relay } from "../../src/internal/exchange.ts"
import type { Sent } from "../../src/internal/requests.ts"

const listen = (answer: RequestListener) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<ReturnType<typeof createServer>>((resume) => {
        const listening = createServer(answer)
        listening.listen(0, "127.0.0.1", () => resume(Effect.succeed(listening)))
      }),
      (listening) => Effect.sync(() => listening.close().closeAllConnections())
    ),
    (listening) => `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
  )

const sentTo = (path: string): Sent => ({ method: "GET", path, headers: {}, body: Buffer.alloc(0) })

/** What a client gets through a server, if the other one answers like this, and what becomes of the request. */
const relayed = (answer: RequestListener, path = "/v1/sessions/ses_1") =>
  Effect.gen(function*() {
    const target = yield* listen(answer)
    const outcomes: Array<Outcome> = []
    const url = yield* listen((_, response) => {
      response.setHeader("Content-Security-Policy", "default-src 'none'")
      const relaying = Effect.map(relay(target, sentTo(path), "signature", response), (outcome) => {
        outcomes.push(outcome)
        if (!response.headersSent) response.writeHead(503).end()
      })
      void Effect.runPromise(relaying)
    })
    const got = yield* Effect.promise(() => fetch(`${url}${path}`, { redirect: "manual" }))
    return { got, outcomes }
  })

const bad: Readonly<Record<string, string>> = {
  "content-type": "application/json",
  "content-security-policy": "script-src *",
  "access-control-allow-origin": "*",
  "set-cookie": "skein=of-somebody-else",
  "clear-site-data": "*",
  "content-disposition": "attachment; filename=\"../x.html\"",
  "retry-after": "1"
}

it.scopedLive("a client gets only headers of the API from another server, and the policies of its own", () =>
  Effect.gen(function*() {
    const { got, outcomes } = yield* relayed((_, response) => void response.writeHead(200, bad).end("{}"))
    expect(yield* Effect.promise(() => got.text())).toBe("{}")
    expect(outcomes).toEqual(["answered"])
    const names = [...got.headers.keys()].filter((name) => !["connection", "date", "keep-alive"].includes(name))
    expect(names.toSorted()).toEqual(["content-security-policy", "content-type", "retry-after", "transfer-encoding"])
    expect(got.headers.get("content-security-policy")).toBe("default-src 'none'")
  }))

it.scopedLive.each<[string, RequestListener]>([
  ["a redirect (307)", (_, response) => void response.writeHead(307, { location: "http://a/v1" }).end()],
  ["text/html", (_, response) => void response.writeHead(200, { "content-type": "text/html" }).end("<script>")],
  ["encoding", (_, response) => void response.writeHead(200, { ...bad, "content-encoding": "gzip" }).end("x")],
  ["a stream", (_, response) => void response.writeHead(200, { "content-type": "text/event-stream" }).write("x")],
  ["the status 600", (_, response) => void response.writeHead(600, bad).end("{}")]
])("%s is no answer of another server", ([why, answer]) =>
  Effect.gen(function*() {
    const { got, outcomes } = yield* relayed(answer)
    expect([got.status, got.headers.get("location")]).toEqual([503, null])
    expect(outcomes).toEqual([{ odd: expect.stringContaining(why) }])
    const target = yield* listen(answer)
    expect(yield* exchange(target, sentTo("/v1/asks"), "signature")).toBeUndefined()
  }))

const megabyte = Buffer.alloc(1024 * 1024, " ")

/** Writes until nobody reads any more. */
const endless = (type: string): RequestListener => (_, response) => {
  response.writeHead(200, { "content-type": type })
  const more = () => {
    while (!response.destroyed && response.write(megabyte));
    if (!response.destroyed) response.once("drain", more)
  }
  more()
}

it.scopedLive("an answer without end is cut off, unless it is a stream of events", () =>
  Effect.gen(function*() {
    const { got } = yield* relayed(endless("application/json"))
    const read = Effect.tryPromise(async () => {
      let size = 0
      for await (const chunk of got.body ?? []) size += chunk.length
      return size
    })
    expect((yield* Effect.flip(read))._tag).toBe("UnknownException")
    const target = yield* listen(endless("application/json"))
    expect(yield* exchange(target, sentTo("/v1/asks"), "signature")).toBeUndefined()
    const events = yield* relayed(
      (_, response) => void response.writeHead(200, { "content-type": "text/event-stream" }).write(": here\n\n"),
      "/v1/sessions/ses_1/events?from=0"
    )
    expect(events.got.headers.get("content-type")).toBe("text/event-stream")
  }), 60_000)
