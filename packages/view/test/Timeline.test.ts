/** Proves that lanes show when somebody worked, and why not. */
import type { Message } from "@skein/domain/Message"
import type { Part } from "@skein/domain/Part"
import { AgentTree } from "@skein/view/AgentTree"
import { criticalPath, Timeline, timeOfID } from "@skein/view/Timeline"
import * as FastCheck from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import { idOf, Story } from "./support/story.ts"

const id = idOf("root")

const shown = (timeline: Timeline, session: string = id) =>
  timeline.of(session).map(({ end, kind, start }) => [kind, start, end])

describe("a lane", () => {
  const tool = (status: string, end?: number) => ({
    part: {
      id: "prt_1",
      sessionID: id,
      type: "tool",
      tool: "read",
      state: { status, title: "a.ts", time: { start: 5, ...(end === undefined ? {} : { end }) } }
    }
  })
  const message = (completed?: number) => ({
    info: { id: "msg_1", sessionID: id, role: "assistant", modelID: "m", time: { created: 1, completed } }
  })

  it("shows answers, calls, questions and waits, from events as from what is stored", () => {
    const story = new Story()
    story.tell("root", "message.updated", message())
    story.tell("root", "message.updated", message(4))
    story.tell("root", "message.part.updated", tool("running"))
    story.tell("root", "message.part.updated", tool("completed", 9))
    const live = new Timeline()
    for (const event of story.events) expect(live.see(event)).toBe(true)
    expect(shown(live)).toEqual([["model", 1, 4], ["tool", 5, 9]])
    const stored = new Timeline()
    stored.read(message(4).info as unknown as Message, [tool("completed", 9).part as unknown as Part])
    expect(stored.of(id)).toEqual(live.of(id))
    expect(stored.size).toBe(2)
  })

  it("tells waiting for a slot, for budget, for a person and for a retry apart, until each ends", () => {
    const story = new Story()
    story.status("root", { type: "queued", position: 2 })
    story.status("root", { type: "queued", position: 1 })
    story.status("root", { type: "waiting", which: "usd", message: "m" })
    story.ask("root", "per_1")
    story.reply("root", "per_1")
    story.tell("root", "message.part.updated", {
      part: { id: "prt_0000000005", sessionID: id, type: "retry", attempt: 1, error: { message: "429" }, next: 2_000 }
    })
    const timeline = new Timeline()
    for (const event of story.events) timeline.see(event)
    expect(shown(timeline)).toEqual([
      ["retry", 5, 2_000],
      ["slot", 1_000, 1_002],
      ["budget", 1_002, undefined],
      ["person", 1_003, 1_004]
    ])
    story.tell("root", "session.idle", {})
    timeline.see(story.events.at(-1)!)
    expect(timeline.of(id).every(({ end }) => end !== undefined)).toBe(true)
  })

  it("shows a request before its first word, from its status or from what was stored before it", () => {
    const story = new Story()
    story.status("root", { type: "busy", step: 1 })
    const timeline = new Timeline()
    timeline.now(id, { type: "busy", step: 1 }, 700)
    expect(shown(timeline)).toEqual([["model", 700, undefined]])
    timeline.see(story.events[0]!)
    story.tell("root", "message.updated", message())
    timeline.see(story.events[1]!)
    expect(shown(timeline)).toEqual([["model", 1, undefined], ["model", 700, 1_001]])
    timeline.now(id, { type: "busy", step: 1 }, 2_000)
    expect(timeline.size).toBe(2)
  })

  it("shows no model at work while the agent waited, as it happens and as it is stored", () => {
    const story = new Story()
    story.tell("root", "message.updated", message())
    story.tell("root", "session.waited", { why: "pause", start: 100, end: 300, until: 300, origin: "a/b" })
    story.tell("root", "session.waited", { why: "retry", start: 250, end: 400 })
    story.tell("root", "session.waited", { why: "person", start: 450, end: 460 })
    story.tell("root", "message.updated", message(900))
    const timeline = new Timeline()
    for (const event of story.events) timeline.see(event)
    expect(shown(timeline)).toEqual([
      ["model", 1, 100],
      ["pause", 100, 300],
      ["retry", 250, 400],
      ["model", 400, 900]
    ])
    expect(new Set(timeline.of(id).map((span) => span.id)).size).toBe(4)
  })

  it("knows the time in an id", () => {
    expect(timeOfID("msg_00000000100000abcdefgh")).toBe(32)
  })
})

describe("the critical path", () => {
  it("leads through the task that ended last, and has no gap", () => {
    const story = new Story()
    story.delegate("a", "root")
    story.delegate("b", "root")
    story.settle("a", "completed")
    story.delegate("c", "b")
    story.settle("c", "completed")
    story.settle("b", "completed")
    story.rest()
    const tree = AgentTree.of(story.snapshot(story.events.length))
    const path = tree === undefined ? [] : criticalPath(tree.root, 9_999)
    expect(path.map((each) => each.id)).toEqual(["root", "b", "c", "b", "root"].map(idOf))
  })

  it("is one stretch after the other, from the beginning to the end, whatever the tasks did", () => {
    const task = FastCheck.record({ parent: FastCheck.nat({ max: 4 }), settles: FastCheck.boolean() })
    FastCheck.assert(FastCheck.property(FastCheck.array(task, { maxLength: 12 }), (tasks) => {
      const story = new Story()
      for (const [at, { parent, settles }] of tasks.entries()) {
        const above = parent === 0 || parent > at || !story.works(`a${parent - 1}`) ? "root" : `a${parent - 1}`
        story.delegate(`a${at}`, above)
        if (settles) story.settle(`a${Math.max(0, at - 1)}`, "completed")
      }
      const tree = AgentTree.of(story.snapshot(story.events.length))
      if (tree === undefined) throw new Error("The snapshot is empty")
      const path = criticalPath(tree.root, 5_000)
      expect([path[0]?.start, path.at(-1)?.end]).toEqual([tree.root.began, 5_000])
      for (const [at, { start }] of path.slice(1).entries()) expect(start).toBe(path[at]?.end)
    }))
  })
})
