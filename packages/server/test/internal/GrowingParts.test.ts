import { describe, expect, it } from "@effect/vitest"
import type { Event } from "@skein/domain/Event"
import { GrowingParts } from "../../src/internal/events/TreeFeed.ts"

const base = { id: "evt_1", timestamp: 1, sessionID: "ses_1", rootID: "ses_1", depth: 0 }
const part = (text: string, time: object = { start: 1 }) => ({
  id: "prt_1",
  sessionID: "ses_1",
  messageID: "msg_1",
  type: "text",
  text,
  time
})
const updated = (text: string, time?: object) =>
  ({ ...base, type: "message.part.updated", properties: { part: part(text, time) } }) as Event
const delta = (text: string, field = "text") =>
  ({
    ...base,
    type: "message.part.delta",
    properties: { messageID: "msg_1", partID: "prt_1", field, delta: text }
  }) as Event
const idle = { ...base, type: "session.idle", properties: {} } as Event

const after = (...events: ReadonlyArray<Event>) => {
  const growing = new GrowingParts()
  for (const event of events) growing.see(event)
  return growing.now.map(({ properties, type }) => [type, properties.part])
}

describe("parts that grow", () => {
  it("are shown as they were told, with the deltas since", () => {
    expect(after(updated("a"), delta("b"), delta("c"))).toEqual([["message.part.updated", part("abc")]])
    expect(after(delta("a"), updated("ab"), delta("c"))).toEqual([["message.part.updated", part("abc")]])
  })

  it("of which only deltas were heard begin with these", () => {
    expect(after(delta("a", "reasoning"))).toEqual([
      ["message.part.updated", { id: "prt_1", sessionID: "ses_1", messageID: "msg_1", type: "reasoning", text: "a" }]
    ])
  })

  it("are not shown once everything of them was told, or their session is idle", () => {
    expect(after(delta("a"), updated("a"))).toEqual([])
    expect(after(updated("a"), delta("b"), updated("ab", { start: 1, end: 2 }))).toEqual([])
    expect(after(updated("a"), delta("b"), idle)).toEqual([])
  })
})
