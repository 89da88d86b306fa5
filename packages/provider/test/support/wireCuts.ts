import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { ask, callsOf, finishOf, serve, textOf } from "./Server.ts"
import { call, modelAt, usual, type Wire } from "./wireCase.ts"

/** Coprime with the length of every frame, so that the cuts are in all kinds of places. */
const step = 13

/** An answer that ends anywhere is an error that may be retried, or it is whole. */
export const wireCuts = (wire: Wire): void => {
  it.scoped(
    "an answer that is cut at any byte is a retryable error without calls, or it is whole",
    () =>
      Effect.gen(function*() {
        const frames = [
          ...wire.begin,
          ...wire.text("Let me look: €"),
          ...call(wire, "call_a", "read", "{\"filePath\":\"a.txt\"}"),
          ...call(wire, "call_b", "read", "{\"filePath\":\"ü.txt\"}", 1),
          ...wire.finish("tool_calls", usual(wire))
        ]
        const bytes = Buffer.from(frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join(""))
        const server = yield* serve((response, number) => {
          response.writeHead(200, { "content-type": "text/event-stream" }).end(bytes.subarray(0, number * step))
        })
        const model = yield* modelAt(wire, server.url)
        let whole = 0
        for (let end = 0; end < bytes.length + step; end += step) {
          const asked = yield* ask(model)
          if (asked.error === undefined) {
            whole++
            expect(textOf(asked), `cut at ${end}`).toBe("Let me look: €")
            expect(callsOf(asked).map(({ input }) => input), `cut at ${end}`).toEqual([
              "{\"filePath\":\"a.txt\"}",
              "{\"filePath\":\"ü.txt\"}"
            ])
            expect(finishOf(asked)).toMatchObject({ finish: "tool-calls" })
          } else {
            expect(asked.error, `cut at ${end}`).toMatchObject({ retryable: true })
            expect(callsOf(asked), `cut at ${end}`).toEqual([])
            expect(finishOf(asked)).toBeUndefined()
          }
        }
        expect(whole).toBeGreaterThan(0)
        expect(whole * step).toBeLessThan(bytes.length / 2)
      }),
    30_000
  )
}
