import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { ServerResponse } from "node:http"
import { sse, textOf } from "./Server.ts"
import { answered, end, usual, type Wire } from "./wireCase.ts"

/** Writes this many times, as fast as it is read, until nobody reads; never ends the answer. */
const flood = (response: ServerResponse, times: number, frame: (at: number) => string) => {
  let at = 0
  const more = () => {
    while (at < times && !response.destroyed) if (!response.write(frame(at++))) return
  }
  response.on("drain", more)
  more()
}

const framed = (...frames: ReadonlyArray<unknown>): string =>
  frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("")

/** The tests of endless answers and unknown events that every API must pass. */
export const wireBounds = (wire: Wire): void => {
  const answer = answered(wire)
  const piece = "x".repeat(50_000)
  const text = wire.text(piece).find((frame) => JSON.stringify(frame).includes(piece))

  const floods: Record<string, readonly [string, (response: ServerResponse) => void]> = {
    "of 10,000 calls": [
      "calls",
      (response) => flood(response, 10_000, (at) => framed(...wire.callBegin(`call_${at}`, "read", "{}", at)))
    ],
    "of 20 MB of arguments in pieces": ["arguments", (response) => {
      const [begin, ...rest] = wire.callBegin("call_1", "write", piece)
      flood(response, 400, (at) => at === 0 ? framed(begin, ...rest) : framed(rest.at(-1) ?? begin))
    }],
    "of 20 MB of text": ["text", (response) => flood(response, 400, () => framed(text))],
    "with one line of 50 MB": [
      "answer",
      (response) => flood(response, 1_000, (at) => at === 0 ? "data: {\"a\":\"" : piece)
    ],
    "with one event of 50 MB in many lines": ["answer", (response) => flood(response, 1_000, () => `data: ${piece}\n`)]
  }

  for (const [name, [bound, send]] of Object.entries(floods)) {
    it.scoped.skipIf(wire.wholeCalls === true && name.includes("pieces"))(
      `cuts an answer ${name}`,
      () =>
        Effect.gen(function*() {
          const { error, events, server } = yield* answer((response) => {
            sse(response, ...wire.begin)
            send(response)
          })
          expect(error).toMatchObject({
            reason: "AnswerTooLarge",
            retryable: false,
            message: expect.stringContaining(`limits.answer${bound === "answer" ? "" : `.${bound}`})`)
          })
          expect(events.filter(({ type }) => type === "tool-call")).toEqual([])
          yield* server.closed
        }),
      30_000
    )
  }

  it.scoped("skips events of unknown types, and unknown fields", () =>
    Effect.gen(function*() {
      const unknown = [
        { type: "conversation.mood", mood: { nice: [1] } },
        {},
        { type: 3 },
        "event: ping\ndata: now\n\n",
        "event: ping\ndata: 1763787000\n\n",
        "event: ping\ndata: [1]\n\n",
        "event: ping\ndata: two\ndata: lines\n\n",
        ": comment\n\n",
        "event: ping\nid: 1\nretry: 5\n\n"
      ]
      const { asked, error } = yield* answer((response) =>
        end(
          response,
          ...unknown,
          ...wire.begin.map((frame) => ({ ...Object(frame), later: true })),
          ...unknown,
          ...wire.text("Hel", "\u2028lo").flatMap((frame) => [{ ...Object(frame), later: { x: 1 } }, ...unknown]),
          ...wire.finish("stop", usual(wire)),
          ...unknown
        )
      )
      expect(error).toBeUndefined()
      expect(textOf(asked)).toBe("Hel\u2028lo")
    }))

  it.scoped("fails if the data of an event is not an object, or not JSON", () =>
    Effect.gen(function*() {
      for (const frame of ["data: {\"choices\":\n\n", "data: now\n\n", "event: error\ndata: now\n\n", "data: 3\n\n"]) {
        const { error } = yield* answer((response) =>
          end(response, ...wire.begin, frame, ...wire.finish("stop", usual(wire)))
        )
        expect(error, frame).toMatchObject({ reason: "bad_response" })
      }
    }))

  it.scoped("fails with an error that has no type", () =>
    Effect.gen(function*() {
      const { error } = yield* answer((response) =>
        end(response, ...wire.begin, { error: { message: "out of order" } }, ...wire.finish("stop", usual(wire)))
      )
      expect(error?.message).toContain("out of order")
    }))
}
