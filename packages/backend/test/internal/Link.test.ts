/** Proves that the token goes to no stranger who listens where the server was, and which requests wait for a storage that is away. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { makeLink } from "../../src/internal/server/Link.ts"

/** Lets what came over the network be read. */
const turn = Effect.promise(() => new Promise<void>((resume) => setImmediate(resume)))

/** A server whose first connection breaks, or gets this status from a proxy; it notes the token of each request. */
const breaking = (tokens: Array<unknown>, status: number | undefined) =>
  Effect.acquireRelease(
    Effect.async<{ readonly url: string; readonly close: () => void }>((resume) => {
      const server = createServer(({ headers, url = "" }, response) => {
        // It proves nothing.
        if (url.endsWith("/handshake")) return void response.writeHead(404).end()
        if (tokens.push(headers.authorization) === 1) {
          if (status === undefined) return void response.destroy()
          return void response.writeHead(status, { "content-type": "text/html" }).end("<html></html>")
        }
        response.writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ version: "1", pid: 1, started: 1, cluster: false }))
      })
      server.listen(0, "127.0.0.1", () =>
        resume(Effect.succeed({
          url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
          close: () => {
            server.closeAllConnections()
            server.close()
          }
        })))
    }),
    ({ close }) => Effect.sync(close)
  )

// What stands for a lost connection behind a proxy is its status.
it.scoped.each([undefined, 502, 504])(
  "sends nothing after %s until the server has proved to be itself",
  (status) =>
    Effect.gen(function*() {
      const tokens: Array<unknown> = []
      const { url } = yield* breaking(tokens, status)
      const server = { url, token: Redacted.make("secret"), version: "1" }
      let looks = 0
      let isBack = false
      const locate = Effect.sync(() => {
        looks++
        return isBack ? Option.some(server) : Option.none()
      })
      const link = yield* makeLink({ server, locate })
      const fiber = yield* Effect.fork(link.call("may be sent again", (api) => api.server.about()))
      const pass = Effect.zipRight(TestClock.adjust("250 millis"), turn)
      yield* Effect.repeat(pass, { until: () => looks > 2 })
      expect(yield* link.locate).toEqual(Option.none())
      expect(tokens).toEqual(["Bearer secret"])
      isBack = true
      yield* Effect.repeat(pass, { until: () => tokens.length > 1 })
      expect(yield* Fiber.join(fiber)).toMatchObject({ version: "1" })
      expect(tokens).toEqual(["Bearer secret", "Bearer secret"])
    }).pipe(Effect.provide(FetchHttpClient.layer))
)

/** A server whose storage does not answer until that is said to be back; it counts its requests. */
const withoutStorage = () =>
  Effect.acquireRelease(
    Effect.async<
      { readonly url: string; readonly seen: { count: number; isBack: boolean }; readonly close: () => void }
    >(
      (resume) => {
        const seen = { count: 0, isBack: false }
        const server = createServer((_, response) => {
          seen.count++
          if (seen.isBack) {
            return void response.writeHead(200, { "content-type": "application/json" })
              .end(JSON.stringify({ version: "1", pid: 1, started: 1, cluster: false }))
          }
          response.writeHead(503, { "content-type": "application/problem+json" }).end(JSON.stringify({
            type: "urn:skein:StorageUnavailable",
            title: "Storage unavailable",
            status: 503,
            detail: "The database does not answer.",
            reason: "busy"
          }))
        })
        server.listen(0, "127.0.0.1", () =>
          resume(Effect.succeed({
            url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
            seen,
            close: () => {
              server.closeAllConnections()
              server.close()
            }
          })))
      }
    ),
    ({ close }) => Effect.sync(close)
  )

it.scoped("waits for a turn as long as the server waits for its storage", () =>
  Effect.gen(function*() {
    const { seen, url } = yield* withoutStorage()
    const link = yield* makeLink({ server: { url, token: Redacted.make("secret"), version: "1" } })
    const fiber = yield* Effect.fork(link.call("waits for a turn", (api) => api.server.about()))
    // Far longer than a server may be unreachable: 150 tries, 250 ms apart.
    yield* Effect.repeat(Effect.zipRight(TestClock.adjust("250 millis"), turn), { until: () => seen.count > 150 })
    expect(Option.isNone(yield* Fiber.poll(fiber))).toBe(true)
    seen.isBack = true
    yield* Effect.repeat(Effect.zipRight(TestClock.adjust("250 millis"), turn), {
      until: () => Effect.map(Fiber.poll(fiber), Option.isSome)
    })
    expect(yield* Fiber.join(fiber)).toMatchObject({ version: "1" })
  }).pipe(Effect.provide(FetchHttpClient.layer)))

it.scoped("reports an absent storage at once to requests that do not wait for a turn", () =>
  Effect.gen(function*() {
    const { seen, url } = yield* withoutStorage()
    const link = yield* makeLink({ server: { url, token: Redacted.make("secret"), version: "1" } })
    expect(yield* Effect.flip(link.call("may be sent again", (api) => api.server.about())))
      .toMatchObject({ _tag: "StorageError", reason: "busy", message: "The database does not answer." })
    expect(seen.count).toBe(1)
  }).pipe(Effect.provide(FetchHttpClient.layer)))

it.scoped("counts the patience anew once a server was reached, as when several are restarted in turn", () =>
  Effect.gen(function*() {
    const held: Array<() => void> = []
    const listening = yield* Effect.acquireRelease(
      Effect.async<ReturnType<typeof createServer>>((resume) => {
        const server = createServer(({ url = "" }, response) => {
          if (url.endsWith("/cluster")) return void response.writeHead(404).end()
          held.push(() => response.destroy())
          if (held.length < 3) return
          response.writeHead(200, { "content-type": "application/json" })
            .end(JSON.stringify({ version: "1", pid: 1, started: 1, cluster: false }))
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.sync(() => server.close().closeAllConnections())
    )
    const url = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
    const server = { url, token: Redacted.make("secret"), version: "1" }
    const link = yield* makeLink({ server, locate: Effect.succeedSome(server) })
    const fiber = yield* Effect.fork(link.call("waits for a turn", (api) => api.server.about()))
    const asked = (count: number) =>
      Effect.repeat(Effect.zipRight(TestClock.adjust("250 millis"), turn), { until: () => held.length >= count })
    yield* asked(1)
    held[0]?.()
    yield* asked(2)
    yield* TestClock.adjust("35 seconds")
    held[1]?.()
    yield* asked(3)
    expect(yield* Fiber.join(fiber)).toMatchObject({ version: "1" })
  }).pipe(Effect.provide(FetchHttpClient.layer)))

it.scoped("an answer without the form of the API is reported in one line, not with the type that was expected", () =>
  Effect.gen(function*() {
    const { url } = yield* Effect.acquireRelease(
      Effect.async<{ readonly url: string; readonly close: () => void }>((resume) => {
        const server = createServer((_, response) =>
          void response.writeHead(200, { "content-type": "application/json" }).end("null")
        )
        server.listen(0, "127.0.0.1", () =>
          resume(Effect.succeed({
            url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
            close: () => server.close().closeAllConnections()
          })))
      }),
      ({ close }) => Effect.sync(close)
    )
    const link = yield* makeLink({ server: { url, token: Redacted.make("secret"), version: "1" } })
    const failed = yield* Effect.flip(link.call("is sent once", ({ sessions }) => sessions.list({ urlParams: {} })))
    expect(failed.message).toBe(
      `The server at ${url} does not answer as expected (the answer does not have the form of the API: null is unexpected).`
    )
  }).pipe(Effect.provide(FetchHttpClient.layer)))
