import { describe, expect, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { makeEventStream } from "../../src/internal/eventStream.ts"

/** The events of a stream that arrives in pieces, split before these bytes. */
const read = (bytes: Buffer, cuts: ReadonlyArray<number> = []): ReadonlyArray<string> => {
  const events: Array<string> = []
  const take = makeEventStream((data) => {
    events.push(data)
    return true
  })
  const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]
  edges.slice(1).forEach((edge, at) => take(bytes.subarray(edges[at], edge)))
  return events
}

const lineEnd = fc.constantFrom("\n", "\r", "\r\n")
const words = fc.string({
  unit: fc.constantFrom("a", ":", " ", "€", "\u{1F600}", "ü", "\uFEFF", "data:"),
  maxLength: 8
})
const line = fc.oneof(
  words.map((text) => ({ says: `data: ${text}`, data: [text] })),
  words.filter((text) => !text.startsWith(" ")).map((text) => ({ says: `data:${text}`, data: [text] })),
  fc.constant({ says: "data", data: [""] }),
  words.map((text) => ({ says: `: ${text}`, data: [] })),
  fc.constantFrom("event: x", "id: 7", "retry: 1", "databank: y", "dat").map((says) => ({ says, data: [] }))
)
/** A stream as sent, and its events. */
const stream = fc.array(fc.tuple(fc.array(fc.tuple(line, lineEnd), { minLength: 1 }), lineEnd)).chain((events) =>
  fc.boolean().map((marked) => ({
    // LF after CR would be one line end.
    text: (marked ? "\uFEFF" : "") +
      events.map(([lines, end]) =>
        `${lines.map(([{ says }, stop]) => `${says}${stop === "\r" ? "\r\n" : stop}`).join("")}${
          end === "\r" ? "\r\n" : end
        }`
      ).join(""),
    events: events.flatMap(([lines]) => {
      const data = lines.flatMap(([one]) => one.data)
      return data.length === 0 || data.join("\n") === "" ? [] : [data.join("\n")]
    })
  }))
)

describe("eventStream", () => {
  it("reads the data of each event, wherever the bytes are split", () => {
    fc.assert(fc.property(stream, fc.array(fc.nat()), ({ events, text }, cuts) => {
      expect(read(Buffer.from(text), cuts)).toEqual(events)
    }))
  })

  it("returns the same for any bytes, wherever they are split", () => {
    const byte = fc.constantFrom(...Buffer.from("data: a\r\n\uFEFF€"), 0xff)
    const noise = fc.array(byte, { maxLength: 60 }).map((bytes) => Buffer.from(bytes))
    fc.assert(fc.property(noise, fc.array(fc.nat()), (bytes, cuts) => {
      expect(read(bytes, cuts)).toEqual(read(bytes))
    }))
  })

  it("accepts CR, LF and CRLF as the end of a line", () => {
    for (const end of ["\n", "\r", "\r\n"]) {
      const bytes = Buffer.from(["data: one", "data: two", "", "data: three", "", ""].join(end))
      for (let cut = 0; cut <= bytes.length; cut++) expect(read(bytes, [cut])).toEqual(["one\ntwo", "three"])
    }
  })

  it("drops an incomplete event", () => {
    expect(read(Buffer.from("data: one\n\ndata: two\n"))).toEqual(["one"])
  })

  it("stops reading when the reader has enough", () => {
    const events: Array<string> = []
    const take = makeEventStream((data) => {
      events.push(data)
      return data !== "two"
    })
    expect(take(Buffer.from("data: one\n\n"))).toBe(true)
    expect(take(Buffer.from("data: two\n\ndata: three\n\n"))).toBe(false)
    expect(take(Buffer.from("data: four\n\n"))).toBe(false)
    expect(events).toEqual(["one", "two"])
  })
})

it("reads the type of an event if it has one", () => {
  const said: Array<readonly [string, string | undefined]> = []
  const take = makeEventStream((data, type) => {
    said.push([data, type])
    return true
  })
  take(Buffer.from("event: ping\ndata: now\n\ndata: {}\n\n"))
  expect(said).toEqual([["now", "ping"], ["{}", undefined]])
})
