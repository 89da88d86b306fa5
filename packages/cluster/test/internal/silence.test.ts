import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { isThere, makeSilence } from "../../src/internal/silence.ts"

it.scoped("a runner is silent after three questions in a row without an answer, and is asked once for all who wait", () =>
  Effect.gen(function*() {
    const answers = [false, false, true, false, false, false]
    let asked = 0
    const silent = yield* makeSilence(() => Effect.sync(() => answers[asked++] ?? true))
    const waiting = yield* Effect.fork(silent("one"))
    const also = yield* Effect.fork(silent("one"))
    yield* TestClock.adjust("11 seconds")
    expect(asked).toBe(5)
    expect(yield* Fiber.poll(waiting)).toEqual(Option.none())
    yield* TestClock.adjust("1 second")
    yield* Fiber.join(waiting)
    yield* Fiber.join(also)
    // Nobody waits, so nobody is asked. Who comes later begins anew.
    yield* TestClock.adjust("1 minute")
    expect(asked).toBe(6)
    const later = yield* Effect.fork(silent("one"))
    yield* TestClock.adjust("1 minute")
    expect(yield* Fiber.poll(later)).toEqual(Option.none())
    yield* Fiber.interrupt(later)
  }))

it.live("a runner that answers anything is there, and one that answers nothing is not", () =>
  Effect.gen(function*() {
    let answer = true
    const server = createServer((_, response) => answer && response.writeHead(403).end())
    yield* Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(yield* isThere(url)).toBe(true)
    answer = false
    expect(yield* isThere(url)).toBe(false)
    server.close().closeAllConnections()
    expect(yield* isThere(url)).toBe(false)
  }))
