import { expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import type { Scope } from "effect/Scope"
import type { ServerResponse } from "node:http"
import type { Vendor } from "../../src/Vendor.ts"
import { ask, callsOf, finishOf, json, request, type Script, serve, sse, textOf } from "./Server.ts"

/** The key of all tests. */
const secret = "sk-test-SECRET"

/** How one API says things; every frame is what follows `data:`. */
export interface Wire {
  readonly path: string
  readonly vendor: (baseUrl: string, apiKey: Redacted.Redacted) => Effect.Effect<Vendor, never, Scope>
  readonly begin: ReadonlyArray<unknown>
  readonly text: (...deltas: ReadonlyArray<string>) => ReadonlyArray<unknown>
  /** The beginning of a call: its arguments so far. */
  readonly callBegin: (id: string, name: string, argumentsSoFar: string, index?: number) => ReadonlyArray<unknown>
  readonly callEnd: (id: string, name: string, all: string, index?: number) => ReadonlyArray<unknown>
  readonly finish: (reason: "stop" | "length" | "tool_calls", usage?: unknown) => ReadonlyArray<unknown>
  /** Counts in the API's own names. */
  readonly usage: (input: unknown, output: unknown, cached?: unknown, reasoning?: unknown) => unknown
}

const call = (wire: Wire, id: string, name: string, args: string, index = 0) => [
  ...wire.callBegin(id, name, args, index),
  ...wire.callEnd(id, name, args, index)
]

const end = (response: ServerResponse, ...frames: ReadonlyArray<unknown>) =>
  sse(response, ...frames, "data: [DONE]\n\n").end()

/** What every API must do with one request, whatever the server does. */
export const wireSuite = (wire: Wire): void => {
  const answer = (script: Script, overrides = {}) =>
    Effect.gen(function*() {
      const server = yield* serve(script)
      const vendor = yield* wire.vendor(server.url, Redacted.make(secret))
      const model = yield* vendor.model("m")
      const asked = yield* ask(model, overrides)
      return { ...asked, asked, server, model }
    })
  const usage = wire.usage(120, 30, 20, 10)

  it.scoped("tells text, reasons to finish, and counts", () =>
    Effect.gen(function*() {
      const { asked, error, events, server } = yield* answer((response) =>
        end(response, ...wire.begin, ...wire.text("Hel", "lo"), ...wire.finish("stop", usage))
      )
      expect(error).toBeUndefined()
      expect(events[0]).toEqual({ type: "connected" })
      expect(events.filter(({ type }) => type === "connected")).toHaveLength(1)
      const spoken = events.filter(({ type }) => type !== "activity").map(({ type }) => type)
      expect(spoken).toEqual(["connected", "text-start", "text-delta", "text-delta", "text-end", "finish"])
      expect(textOf(asked)).toBe("Hello")
      expect(finishOf(asked)).toEqual({
        type: "finish",
        finish: "stop",
        tokens: { input: 120, output: 30, reasoning: 10, cacheRead: 20, cacheWrite: 0 }
      })
      expect(server.seen.map(({ url }) => url)).toEqual([wire.path])
      expect(server.seen[0]?.headers.authorization).toBe(`Bearer ${secret}`)
      expect(server.seen[0]?.headers["accept-encoding"]).toBe("identity")
    }))

  it.scoped("tells parallel calls in order, with their arguments as they were written", () =>
    Effect.gen(function*() {
      const { asked } = yield* answer((response) =>
        end(
          response,
          ...wire.begin,
          ...call(wire, "call_a", "bash", "{\"command\":\"ls\"}"),
          ...call(wire, "call_b", "read", "{}", 1),
          ...wire.finish("tool_calls", usage)
        )
      )
      expect(callsOf(asked)).toEqual([
        { type: "tool-call", id: "call_a", name: "bash", input: "{\"command\":\"ls\"}" },
        { type: "tool-call", id: "call_b", name: "read", input: "{}" }
      ])
      expect(finishOf(asked)).toMatchObject({ finish: "tool-calls" })
    }))

  it.scoped("sends the whole conversation, tools and all", () =>
    Effect.gen(function*() {
      const { server } = yield* answer(
        (response) => end(response, ...wire.begin, ...wire.text("ok"), ...wire.finish("stop", usage)),
        {
          temperature: 0.5,
          messages: [
            { role: "system", content: "Be brief." },
            { role: "user", content: [{ type: "text", text: "look" }] },
            {
              role: "assistant",
              content: [
                { type: "text", text: "looking" },
                { type: "tool-call", toolCallId: "call_a", toolName: "bash", input: { command: "ls" } },
                { type: "tool-call", toolCallId: "call_b", toolName: "bash", input: "{\"command\":" }
              ]
            },
            {
              role: "tool",
              content: [
                {
                  type: "tool-result",
                  toolCallId: "call_a",
                  toolName: "bash",
                  output: { type: "text", value: "a.txt" }
                },
                {
                  type: "tool-result",
                  toolCallId: "call_b",
                  toolName: "bash",
                  output: { type: "error-text", value: "bad" }
                }
              ]
            }
          ]
        }
      )
      const body = server.seen[0]?.body ?? ""
      expect(JSON.parse(body)).toMatchObject({ model: "m", stream: true, temperature: 0.5, tool_choice: "auto" })
      for (const said of ["Be brief.", "look", "looking", "call_a", "a.txt", "bad", "Runs a command"]) {
        expect(body).toContain(said)
      }
      expect(body).toContain(JSON.stringify("{\"command\":\"ls\"}"))
      // Servers parse the arguments of old calls: they must be an object, whatever the model once wrote.
      expect(body).toContain("\"arguments\":\"{}\"")
    }))

  it.scoped.each([400, 401, 403, 404, 422])(
    "P04: a %i is final, and its message holds no key",
    (status) =>
      Effect.gen(function*() {
        const { error, server } = yield* answer((response) =>
          json(response, status, { error: { message: `Incorrect API key provided: ${secret}`, type: "x" } }, {
            "x-echo": secret
          })
        )
        expect(error).toMatchObject({
          reason: status === 401 || status === 403 ? "auth" : "invalid_request",
          retryable: false,
          status
        })
        expect(error?.message).toContain("Incorrect API key provided: [redacted]")
        expect(JSON.stringify(error)).not.toContain(secret)
        expect(server.seen).toHaveLength(1)
      })
  )

  it.scoped.each(
    [[429, "rate_limit"], [500, "server"], [502, "server"], [503, "server"], [529, "overloaded"]] as const
  )(
    "P03: a %i can be tried again (%s)",
    ([status, reason]) =>
      Effect.gen(function*() {
        const { error, server } = yield* answer((response) =>
          response.writeHead(status, { "retry-after": "2" }).end("<html>no</html>")
        )
        expect(error).toMatchObject({ reason, retryable: true, status, retryAfter: 2_000 })
        expect(error?.message).not.toContain("html")
        expect(server.seen).toHaveLength(1)
      })
  )

  it.scoped("P05: a refused connection is a network error that can be tried again", () =>
    Effect.gen(function*() {
      const url = yield* Effect.scoped(Effect.map(serve(() => {}), (server) => server.url))
      const vendor = yield* wire.vendor(url, Redacted.make(secret))
      const { error, events } = yield* ask(yield* vendor.model("m"))
      expect(error).toMatchObject({ reason: "network", retryable: true })
      expect(error?.message).toContain("ECONNREFUSED")
      expect(events).toEqual([])
    }))

  it.scoped("P05: a connection that is reset before the answer is a network error", () =>
    Effect.gen(function*() {
      const { error } = yield* answer((response) => response.socket?.resetAndDestroy())
      expect(error).toMatchObject({ reason: "network", retryable: true })
    }))

  it.scoped("P07: tells that it is connected when the headers are there, before any word", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) =>
        response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
      )
      const vendor = yield* wire.vendor(server.url, Redacted.make(secret))
      const model = yield* vendor.model("m")
      const first = yield* Deferred.make<string>()
      const events: Array<string> = []
      const fiber = yield* Effect.fork(model.stream(request(), ({ type }) => {
        events.push(type)
        Deferred.unsafeDone(first, Effect.succeed(type))
      }))
      expect(yield* Deferred.await(first)).toBe("connected")
      yield* Fiber.interrupt(fiber)
      // What the SDK says by itself is no sign of life.
      expect(events).toEqual(["connected"])
    }))

  it.scoped("P09: a cut in the middle of arguments is a network error, and tells no call", () =>
    Effect.gen(function*() {
      const { asked, error } = yield* answer((response) => {
        sse(
          response,
          ...wire.begin,
          ...wire.text("wait"),
          ...wire.callBegin("call_a", "bash", "{\"command\":\"rm -rf /tmp/x")
        )
        setImmediate(() => response.socket?.resetAndDestroy())
      })
      expect(error).toMatchObject({ reason: "network", retryable: true })
      expect(callsOf(asked)).toEqual([])
      expect(finishOf(asked)).toBeUndefined()
    }))

  it.scoped("P10: arguments that are not JSON are passed on", () =>
    Effect.gen(function*() {
      const bad = "{\"filePath\":\"a.txt\",\"content\":\"x"
      const { asked } = yield* answer((response) =>
        end(response, ...wire.begin, ...call(wire, "call_a", "write", bad), ...wire.finish("tool_calls", usage))
      )
      expect(callsOf(asked)).toEqual([{ type: "tool-call", id: "call_a", name: "write", input: bad }])
    }))

  it.scoped("P15: odd identifiers are passed on", () =>
    Effect.gen(function*() {
      for (const id of ["../../x", "x".repeat(10_000)]) {
        const { asked } = yield* answer((response) =>
          end(response, ...wire.begin, ...call(wire, id, "bash", "{}"), ...wire.finish("tool_calls", usage))
        )
        expect(callsOf(asked)).toMatchObject([{ id }])
      }
    }))

  it.scoped("P16: an empty stream, and one with its end mark alone, is an empty response", () =>
    Effect.gen(function*() {
      for (const frames of [[], ["data: [DONE]\n\n"]]) {
        const { error } = yield* answer((response) => sse(response, ...frames).end())
        expect(error).toMatchObject({ reason: "empty_response", retryable: true })
      }
    }))

  it.scoped("P16: a finish without content is a success for core to judge", () =>
    Effect.gen(function*() {
      const { asked, error } = yield* answer((response) => end(response, ...wire.begin, ...wire.finish("stop", usage)))
      expect(error).toBeUndefined()
      expect(asked.events.filter(({ type }) => type !== "activity").map(({ type }) => type)).toEqual([
        "connected",
        "finish"
      ])
    }))

  it.scoped("an answer that ends without a reason to finish is a bad response", () =>
    Effect.gen(function*() {
      const { asked, error } = yield* answer((response) => sse(response, ...wire.begin, ...wire.text("half a")).end())
      expect(error).toMatchObject({ reason: "bad_response", retryable: true })
      expect(finishOf(asked)).toBeUndefined()
    }))

  it.scoped("P17: the finish says that the length was the reason", () =>
    Effect.gen(function*() {
      const { asked } = yield* answer((response) =>
        end(
          response,
          ...wire.begin,
          ...call(wire, "call_a", "bash", "{\"command\":\"rm"),
          ...wire.finish("length", usage)
        )
      )
      expect(finishOf(asked)).toMatchObject({ finish: "length" })
    }))

  it.scoped("P18: a conversation that is too long is told as such", () =>
    Effect.gen(function*() {
      const { error } = yield* answer((response) =>
        json(response, 400, {
          error: { message: "Too long.", type: "invalid_request_error", code: "context_length_exceeded" }
        })
      )
      expect(error).toMatchObject({ reason: "context_overflow", retryable: false, status: 400 })
    }))

  it.scoped("P22: characters split over packets, CRLF, no space, and a BOM", () =>
    Effect.gen(function*() {
      const frames = [...wire.begin, ...wire.text("€", "\u{1F600}"), ...wire.finish("stop", usage)]
        .map((frame) => `data:${JSON.stringify(frame)}\r\n\r\n`).join("")
      const bytes = Buffer.from(`\uFEFF${frames}data:[DONE]\r\n\r\n`)
      const { asked, error } = yield* answer((response) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        const step = (at: number): void => {
          if (at >= bytes.length) return void response.end()
          response.write(bytes.subarray(at, at + 1), () => setImmediate(step, at + 1))
        }
        response.socket?.setNoDelay(true)
        step(0)
      })
      expect(error).toBeUndefined()
      expect(textOf(asked)).toBe("€\u{1F600}")
    }))

  it.scoped.each(
    [
      [{ type: "overloaded_error" }, "overloaded", true],
      [{ type: "overloaded_error", message: "Overloaded" }, "overloaded", true],
      [{ type: "invalid_request_error", message: "No." }, "invalid_request", false],
      [{ type: "server_error", message: "Oops", code: "server_error" }, "server", true],
      [{ type: "tokens", code: "rate_limit_exceeded", message: "Slow. Please try again in 1.5s." }, "rate_limit", true],
      [{ type: "insufficient_quota", code: "insufficient_quota", message: "Pay." }, "rate_limit", false],
      [{ type: "x", code: "context_length_exceeded", message: "Too long." }, "context_overflow", false]
    ] as const
  )("P24: an error event %j is %s", ([error, reason, retryable]) =>
    Effect.gen(function*() {
      const event = { type: "error", sequence_number: 2, error }
      for (const before of [wire.begin, [...wire.begin, ...wire.text("half")]]) {
        const asked = yield* answer((response) => sse(response, ...before, event).end())
        expect(asked.error).toMatchObject({ reason, retryable })
        expect(finishOf(asked)).toBeUndefined()
      }
    }))

  it.scoped("a line that is not JSON fails the answer, though the stream goes on", () =>
    Effect.gen(function*() {
      const { asked, error } = yield* answer((response) =>
        end(
          response,
          ...wire.begin,
          ...wire.text("one"),
          "data: {\"oops\n\n",
          ...wire.text("two"),
          ...wire.finish("stop", usage)
        )
      )
      expect(error).toMatchObject({ reason: "bad_response", retryable: true })
      expect(textOf(asked)).toBe("one")
    }))

  it.scoped("P27: lone surrogates and U+0000 become replacement characters, pairs stay whole", () =>
    Effect.gen(function*() {
      const { asked } = yield* answer((response) =>
        end(
          response,
          ...wire.begin,
          ...wire.text("a\ud800b", "c\0d", "\ud83d", "\ude00!"),
          ...call(wire, "call_a", "bash", "{\"a\":\"\\ud800\",\"b\":\"\\ud83d\\ude00\",\"c\":\"x\\u0000y\"}"),
          ...wire.finish("tool_calls", usage)
        )
      )
      expect(textOf(asked)).toBe("a\ufffdbc\ufffdd\u{1F600}!")
      expect(JSON.parse(callsOf(asked)[0]?.input ?? "")).toEqual({ a: "\ufffd", b: "\u{1F600}", c: "x\0y" })
    }))

  it.scoped("P27: what is sent is JSON that strict servers take", () =>
    Effect.gen(function*() {
      const { server } = yield* answer(
        (response) => end(response, ...wire.begin, ...wire.text("ok"), ...wire.finish("stop", usage)),
        { messages: [{ role: "user", content: [{ type: "text", text: "a\ud800b\0c \u{1F600} \\ud800 \\u0000" }] }] }
      )
      expect(server.seen[0]?.body).toContain("a\\ufffdb\\ufffdc \u{1F600} \\\\ud800 \\\\u0000")
    }))

  it.scoped.each(["text/html; charset=utf-8", "application/json"])(
    "an answer of %s in the place of a stream is a bad response, and its socket is closed",
    (kind) =>
      Effect.gen(function*() {
        const { error, events, server } = yield* answer((response) =>
          void response.writeHead(200, { "content-type": kind }).write("<html>Log in")
        )
        expect(error).toMatchObject({ reason: "bad_response", retryable: true })
        expect(error?.message).toContain(kind)
        expect(events).toEqual([])
        yield* server.closed
      })
  )

  it.scoped("P29: a redirect is not followed", () =>
    Effect.gen(function*() {
      const other = yield* serve((response) =>
        end(response, ...wire.begin, ...wire.text("stolen"), ...wire.finish("stop", usage))
      )
      const { error } = yield* answer((response) => response.writeHead(302, { location: `${other.url}/x` }).end())
      expect(error).toMatchObject({ reason: "invalid_request", retryable: false, status: 302 })
      expect(error?.message).toContain(other.host)
      expect(other.seen).toEqual([])
    }))

  it.scoped("P30: counts that are missing or negative are unknown", () =>
    Effect.gen(function*() {
      for (const bad of [undefined, wire.usage(-5, 3), wire.usage(0, 0)]) {
        const { asked, error } = yield* answer((response) =>
          end(response, ...wire.begin, ...wire.text("ok"), ...wire.finish("stop", bad))
        )
        expect(error).toBeUndefined()
        expect(finishOf(asked)).toEqual({ type: "finish", finish: "stop", tokens: undefined })
      }
    }))

  it.scoped("P30: a count of NaN, which is no JSON, is never a number", () =>
    Effect.gen(function*() {
      const { asked, error } = yield* answer((response) => {
        const [last] = wire.finish("stop", wire.usage("NAN", 3)).slice(-1)
        end(response, ...wire.begin, ...wire.text("ok"), `data: ${JSON.stringify(last).replace("\"NAN\"", "NaN")}\n\n`)
      })
      expect(error).toMatchObject({ reason: "bad_response", retryable: true })
      expect(finishOf(asked)).toBeUndefined()
    }))

  it.scoped("P30: details that exceed the whole are cut", () =>
    Effect.gen(function*() {
      const { asked } = yield* answer((response) =>
        end(response, ...wire.begin, ...wire.text("ok"), ...wire.finish("stop", wire.usage(10, 5, 50, 99)))
      )
      expect(finishOf(asked)).toMatchObject({ tokens: { input: 10, output: 5, cacheRead: 10, reasoning: 5 } })
    }))

  it.scoped("interruption closes the socket at once, and nothing is told after it", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) => void sse(response, ...wire.begin, ...wire.text("one")))
      const vendor = yield* wire.vendor(server.url, Redacted.make(secret))
      const model = yield* vendor.model("m")
      const told = yield* Deferred.make<void>()
      const events: Array<string> = []
      const fiber = yield* Effect.fork(model.stream(request(), ({ type }) => {
        events.push(type)
        if (type === "text-delta") Deferred.unsafeDone(told, Effect.void)
      }))
      yield* Deferred.await(told)
      yield* Fiber.interrupt(fiber)
      const heard = events.length
      yield* server.closed
      expect(events).toHaveLength(heard)
    }))

  it.scoped("interruption before the headers closes the socket too", () =>
    Effect.gen(function*() {
      const arrived = yield* Deferred.make<void>()
      const server = yield* serve(() => Deferred.unsafeDone(arrived, Effect.void))
      const vendor = yield* wire.vendor(server.url, Redacted.make(secret))
      const fiber = yield* Effect.fork(ask(yield* vendor.model("m")))
      yield* Deferred.await(arrived)
      yield* Fiber.interrupt(fiber)
      yield* server.closed
    }))

  it.scoped("a request that is interrupted before there is a socket is not sent", () =>
    Effect.gen(function*() {
      const server = yield* serve((response) =>
        end(response, ...wire.begin, ...wire.text("ok"), ...wire.finish("stop", usage))
      )
      const vendor = yield* wire.vendor(server.url, Redacted.make(secret))
      const model = yield* vendor.model("m")
      const fiber = yield* Effect.fork(ask(model))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(fiber)
      expect((yield* ask(model)).error).toBeUndefined()
      expect(server.seen).toHaveLength(1)
    }))

  it.scoped("an answer that is given up closes the socket", () =>
    Effect.gen(function*() {
      const { error, server } = yield* answer((response) => void sse(response, ...wire.begin, "data: {\"oops\n\n"))
      expect(error?.reason).toBe("bad_response")
      yield* server.closed
    }))

  it.scoped("an error page without end is cut short", () =>
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
      const vendor = yield* wire.vendor(server.url, Redacted.make(secret))
      const model = yield* vendor.model("m")
      for (let count = 0; count < 5; count++) yield* ask(model)
      expect(server.seen).toHaveLength(5)
      expect(ports.size).toBe(1)
    }))
}
