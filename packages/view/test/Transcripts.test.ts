/** Proves that what is read of a session is what was said, however much of it came as deltas. */
import type { Event } from "@skein/domain/Event"
import type { MessageWithParts, Part } from "@skein/domain/Part"
import { Transcripts } from "@skein/view/Transcripts"
import * as FastCheck from "effect/FastCheck"
import { describe, expect, it } from "vitest"

const event = (type: string, properties: object, sessionID = "ses_1") =>
  ({ type, sessionID, timestamp: 0, properties }) as unknown as Event
const message = (id: string) => event("message.updated", { info: { id, role: "assistant", time: {} } })
const text = (words: string, end?: number, id = "prt_1"): Part =>
  ({
    id,
    sessionID: "ses_1",
    messageID: "msg_1",
    type: "text",
    text: words,
    time: { start: 0, ...(end === undefined ? {} : { end }) }
  }) as Part
const updated = (part: Part) => event("message.part.updated", { part })
const delta = (words: string, partID = "prt_1") =>
  event("message.part.delta", { messageID: "msg_1", partID, field: "text", delta: words })
const read = (transcripts: Transcripts) =>
  transcripts.of("ses_1")?.flatMap(({ parts }) => parts.map((part) => part.type === "text" ? part.text : part.type))
const stored = (...parts: ReadonlyArray<Part>) =>
  [{ info: { id: "msg_1", role: "assistant" }, parts }] as unknown as ReadonlyArray<MessageWithParts>

describe("a transcript", () => {
  it("is what was said, wherever it was opened", () => {
    const pieces = FastCheck.array(FastCheck.string({ minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 8 })
    FastCheck.assert(FastCheck.property(pieces, FastCheck.nat(), FastCheck.nat(), (said, at, flushed) => {
      const transcripts = new Transcripts()
      const opened = at % (said.length + 1)
      const lag = flushed % (opened + 1)
      let words = ""
      transcripts.see(message("msg_1"))
      for (const [index, piece] of said.entries()) {
        // What is stored is behind what was said.
        if (index === opened) transcripts.open("ses_1", stored(text(said.slice(0, lag).join(""))))
        words += piece
        transcripts.see(delta(piece))
      }
      if (opened === said.length) transcripts.open("ses_1", stored(text(said.slice(0, lag).join(""))))
      expect(read(transcripts)).toEqual([words])
      transcripts.see(updated(text(words, 1)))
      expect(read(transcripts)).toEqual([words])
    }))
  })

  it("takes a part as it is told, and the deltas after it", () => {
    const transcripts = new Transcripts()
    transcripts.open("ses_1", [])
    transcripts.see(message("msg_1"))
    transcripts.see(delta("wrong"))
    transcripts.see(updated(text("")))
    transcripts.see(delta("right"))
    expect(read(transcripts)).toEqual(["right"])
    transcripts.see(delta("second", "prt_2"))
    expect(read(transcripts)).toEqual(["right", "second"])
  })

  it("keeps messages in their order, and those that did not change as they are", () => {
    const transcripts = new Transcripts()
    transcripts.open("ses_1", [])
    transcripts.see(message("msg_2"))
    transcripts.see(message("msg_1"))
    const [first, second] = transcripts.of("ses_1") ?? []
    transcripts.see(delta("x"))
    expect(transcripts.of("ses_1")?.map(({ info }) => info.id)).toEqual(["msg_1", "msg_2"])
    expect(transcripts.of("ses_1")?.[1]).toBe(second)
    expect(transcripts.of("ses_1")?.[0]).not.toBe(first)
  })

  it("changes for its own session alone, and while it is open", () => {
    const transcripts = new Transcripts()
    expect(transcripts.see(message("msg_1"))).toBe(false)
    transcripts.open("ses_1", [])
    expect(transcripts.see(event("message.updated", { info: { id: "msg_1" } }, "ses_2"))).toBe(false)
    expect(transcripts.see(message("msg_1"))).toBe(true)
    transcripts.close("ses_1")
    expect(transcripts.of("ses_1")).toBeUndefined()
  })
})
