import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { ServerResponse } from "node:http"
import { callsOf, finishOf, textOf } from "./Server.ts"
import { answered, call, end, secret, usual, type Wire } from "./wireCase.ts"

/** The tests of complete answers that every API must pass, and of its requests. */
export const wireAnswers = (wire: Wire): void => {
  const answer = answered(wire)
  const usage = usual(wire)

  it.scoped("emits text, finish reasons, and token counts", () =>
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
      const [header, prefix] = wire.keyHeader
      expect(server.seen[0]?.headers[header]).toBe(`${prefix}${secret}`)
      expect(server.seen[0]?.headers["accept-encoding"]).toBe("identity")
    }))

  it.scoped("emits parallel calls in order, with their arguments as written", () =>
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

  it.scoped("sends the output cap, if there is one", () =>
    Effect.gen(function*() {
      const say = (response: ServerResponse) =>
        end(response, ...wire.begin, ...wire.text("ok"), ...wire.finish("stop", usage))
      const capped = yield* answer(say, { maxOutputTokens: 300 })
      expect(capped.server.seen[0]?.body).toContain(`"${wire.outputCap}":300`)
      const free = yield* answer(say)
      if (wire.usualCap === undefined) {
        expect(free.server.seen[0]?.body).not.toMatch(/max_?(?:completion_|output_)?tokens/i)
      } else expect(free.server.seen[0]?.body).toContain(`"${wire.outputCap}":${wire.usualCap}`)
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
      expect(JSON.parse(body)).toMatchObject(wire.request.fixed)
      for (const said of ["Be brief.", "look", "looking", "call_a", "a.txt", "bad", "Runs a command"]) {
        expect(body).toContain(said)
      }
      expect(body).toContain(wire.request.goodCall)
      // Servers parse the arguments of old calls: they must be an object, whatever the model wrote.
      expect(body).toContain(wire.request.badCall)
    }))

  it.scoped.skipIf(wire.wholeCalls)("P10: arguments that are not JSON are passed on", () =>
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

  it.scoped("P16: a finish without content succeeds here, and core judges it", () =>
    Effect.gen(function*() {
      const { asked, error } = yield* answer((response) => end(response, ...wire.begin, ...wire.finish("stop", usage)))
      expect(error).toBeUndefined()
      expect(asked.events.filter(({ type }) => type !== "activity").map(({ type }) => type)).toEqual([
        "connected",
        "finish"
      ])
    }))

  it.scoped("P17: the finish reason is the length", () =>
    Effect.gen(function*() {
      const { asked } = yield* answer((response) =>
        end(
          response,
          ...wire.begin,
          ...wire.text("half a"),
          ...call(wire, "call_a", "bash", "{\"command\":\"rm"),
          ...wire.finish("length", usage)
        )
      )
      expect(finishOf(asked)).toMatchObject({ finish: "length" })
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

  it.scoped("P27: request bodies are JSON for strict servers", () =>
    Effect.gen(function*() {
      const { server } = yield* answer(
        (response) => end(response, ...wire.begin, ...wire.text("ok"), ...wire.finish("stop", usage)),
        { messages: [{ role: "user", content: [{ type: "text", text: "a\ud800b\0c \u{1F600} \\ud800 \\u0000" }] }] }
      )
      expect(server.seen[0]?.body).toContain("a\\ufffdb\\ufffdc \u{1F600} \\\\ud800 \\\\u0000")
    }))

  it.scoped("P30: missing or negative counts are unknown", () =>
    Effect.gen(function*() {
      for (const bad of [undefined, wire.usage(-5, 3), wire.usage(0, 0)]) {
        const { asked, error } = yield* answer((response) =>
          end(response, ...wire.begin, ...wire.text("ok"), ...wire.finish("stop", bad))
        )
        expect(error).toBeUndefined()
        expect(finishOf(asked)).toEqual({ type: "finish", finish: "stop", tokens: undefined })
      }
    }))

  it.scoped("P30: details that exceed the total are clamped", () =>
    Effect.gen(function*() {
      const { asked } = yield* answer((response) =>
        end(response, ...wire.begin, ...wire.text("ok"), ...wire.finish("stop", wire.usage(10, 5, 50, 99)))
      )
      expect(finishOf(asked)).toMatchObject({ tokens: { input: 10, output: 5, cacheRead: 10, reasoning: 5 } })
    }))
}
