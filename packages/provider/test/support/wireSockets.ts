import { expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { ask, request, serve, sse } from "./Server.ts"
import { answered, end, modelAt, usual, type Wire } from "./wireCase.ts"

/** When every API must open, reuse and close its sockets. */
export const wireSockets = (wire: Wire): void => {
  const answer = answered(wire)
  const usage = usual(wire)

  it.scoped("P07: reports the connection once it is established, before any answer", () =>
    Effect.gen(function*() {
      const server = yield* serve(() => {})
      const model = yield* modelAt(wire, server.url)
      const first = yield* Deferred.make<string>()
      const events: Array<string> = []
      const fiber = yield* Effect.fork(model.stream(request(), ({ type }) => {
        events.push(type)
        Deferred.unsafeDone(first, Effect.succeed(type))
      }))
      expect(yield* Deferred.await(first)).toBe("connected")
      yield* Fiber.interrupt(fiber)
      expect(events).toEqual(["connected"])
    }))

  it.scoped("P07: a reused socket is connected, and each request reports that once", () =>
    Effect.gen(function*() {
      const ports = new Set<number | undefined>()
      const server = yield* serve((response) => {
        ports.add(response.socket?.remotePort)
        end(response, ...wire.begin, ...wire.text("ok"), ...wire.finish("stop", usage))
      })
      const model = yield* modelAt(wire, server.url)
      for (let count = 0; count < 2; count++) {
        const { events } = yield* ask(model)
        expect(events.map(({ type }) => type).filter((type) => type === "connected")).toHaveLength(1)
        expect(events[0]?.type).toBe("connected")
      }
      expect(ports.size).toBe(1)
    }))

  it.scoped("interruption closes the socket immediately, and nothing is emitted after it", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => void sse(response, ...wire.begin, ...wire.text("one")))
      const model = yield* modelAt(wire, server.url)
      const first = yield* Deferred.make<void>()
      const events: Array<string> = []
      const fiber = yield* Effect.fork(model.stream(request(), ({ type }) => {
        events.push(type)
        if (type === "text-delta") Deferred.unsafeDone(first, Effect.void)
      }))
      yield* Deferred.await(first)
      yield* Fiber.interrupt(fiber)
      const heard = events.length
      yield* server.closed
      expect(events).toHaveLength(heard)
    }))

  it.scoped("interruption before the headers closes the socket too", () =>
    Effect.gen(function*() {
      const arrived = yield* Deferred.make<void>()
      const server = yield* serve(() => Deferred.unsafeDone(arrived, Effect.void))
      const fiber = yield* Effect.fork(ask(yield* modelAt(wire, server.url)))
      yield* Deferred.await(arrived)
      yield* Fiber.interrupt(fiber)
      yield* server.closed
    }))

  it.scoped("a request that is interrupted before it has a socket is not sent", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) =>
        end(response, ...wire.begin, ...wire.text("ok"), ...wire.finish("stop", usage))
      )
      const model = yield* modelAt(wire, server.url)
      const fiber = yield* Effect.fork(ask(model))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(fiber)
      expect((yield* ask(model)).error).toBeUndefined()
      expect(server.seen).toHaveLength(1)
    }))

  it.scoped("an abandoned answer closes the socket", () =>
    Effect.gen(function*() {
      const { error, server } = yield* answer((response) => void sse(response, ...wire.begin, "data: {\"oops\n\n"))
      expect(error?.reason).toBe("bad_response")
      yield* server.closed
    }))

  it.scoped("an endless error page is truncated", () =>
    Effect.gen(function*() {
      const { error, server } = yield* answer((response) => {
        response.writeHead(500)
        const more = (): void => {
          if (!response.destroyed) response.write("x".repeat(16_384), () => setImmediate(more))
        }
        more()
      })
      expect(error).toMatchObject({ reason: "server", status: 500 })
      expect(error?.message.length).toBeLessThan(1_000)
      yield* server.closed
    }))

  it.scoped("one socket serves one request after another", () =>
    Effect.gen(function*() {
      const ports = new Set<number | undefined>()
      const server = yield* serve((response) => {
        ports.add(response.socket?.remotePort)
        end(response, ...wire.begin, ...wire.text("ok"), ...wire.finish("stop", usage))
      })
      const model = yield* modelAt(wire, server.url)
      for (let count = 0; count < 5; count++) yield* ask(model)
      expect(server.seen).toHaveLength(5)
      expect(ports.size).toBe(1)
    }))
}
