import type { Event } from "@skein/domain/Event"
import { describe, expect, it } from "vitest"
import { LeftOut } from "../../src/internal/run/progress.ts"

const event = (type: Event["type"], properties: unknown) => ({ type, properties }) as Event
const delta = (partID: string) => event("message.part.delta", { messageID: "msg_1", partID, field: "text", delta: "a" })
const text = (id: string) => event("message.part.updated", { part: { id, type: "text", text: "aa" } })
const call = (id: string, status: string) =>
  event("message.part.updated", { part: { id, type: "tool", state: { status } } })

/** Whether each event is left out by one who reads slowly from then on. */
const slow = () => {
  let waiting = 0
  const leftOut = new LeftOut({ waiting: () => waiting })
  return {
    leftOut,
    fill: () => waiting = Infinity,
    empty: () => waiting = 0,
    take: (...events: ReadonlyArray<Event>) => events.map((each) => leftOut.takes(each))
  }
}

describe("what a slow reader does not get", () => {
  it("is nothing while the reader keeps up", () => {
    const { leftOut, take } = slow()
    expect(take(delta("a"), event("session.status", {}), call("c", "running"), call("c", "running"))).toEqual(
      [false, false, false, false]
    )
    expect(leftOut.count).toBe(0)
  })

  it("are the pieces of a text until the whole text is told", () => {
    const { empty, fill, leftOut, take } = slow()
    fill()
    expect(take(delta("a"))).toEqual([true])
    empty()
    expect(take(delta("a"), delta("b"), text("a"), delta("a"))).toEqual([true, false, false, false])
    expect(leftOut.count).toBe(2)
  })

  it("is the progress of a call, but neither its begin nor its result", () => {
    const { fill, take } = slow()
    fill()
    expect(take(call("c", "pending"), call("c", "running"), call("c", "running"), call("c", "completed"))).toEqual(
      [false, false, true, false]
    )
    expect(take(event("background_task.progress", {}), event("session.status", {}), event("session.idle", {}))).toEqual(
      [true, true, false]
    )
  })
})
