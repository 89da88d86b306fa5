/** Proves that a transcript in a full-screen view follows its session, and that a large tree fits. */
import type { Event } from "@skein/domain/Event"
import type { SessionID } from "@skein/domain/Id"
import type { MessageWithParts } from "@skein/domain/Part"
import type { SessionInfo } from "@skein/domain/SessionInfo"
import { none } from "@skein/domain/Usage"
import { AgentTree } from "@skein/view/AgentTree"
import { describe, expect, it } from "vitest"
import { TaskKeys } from "../../src/internal/model/keys.ts"
import { Reading, TreeView } from "../../src/internal/model/Views.ts"
import type { Key } from "../../src/Key.ts"
import { colourless } from "../../src/Style.ts"

const sessionOf = (name: string, parent?: string): SessionInfo =>
  ({
    id: `ses_${name}`,
    rootID: "ses_root",
    ...(parent === undefined ? {} : { parentID: `ses_${parent}` }),
    depth: parent === undefined ? 0 : 1,
    agent: parent === undefined ? "build" : "general",
    title: `Task ${name}`,
    usage: { own: none, subtree: none },
    time: { created: 0, updated: 0 }
  }) as unknown as SessionInfo

const eventOf = (name: string, type: string, properties: unknown): Event =>
  ({ id: "evt_1", type, timestamp: 0, sessionID: `ses_${name}`, rootID: "ses_root", depth: 1, properties }) as Event

const answer = (text: string, end?: number) => ({
  id: "prt_1",
  messageID: "msg_1",
  sessionID: "ses_a",
  type: "text",
  text,
  time: { start: 0, ...(end === undefined ? {} : { end }) }
})

const info = {
  id: "msg_1",
  sessionID: "ses_a",
  role: "assistant",
  agent: "general",
  providerID: "o",
  modelID: "m",
  time: {}
}

const tree = (names: ReadonlyArray<string>) => {
  const made = new AgentTree(sessionOf("root"), 0)
  for (const name of names) {
    made.see(eventOf(name, "session.created", { info: sessionOf(name, "root") }))
    made.see(eventOf(name, "session.status", { status: { type: "busy", step: 1 } }))
  }
  return made
}

const readingOf = (agents = tree(["a"])) =>
  new Reading(sessionOf("a", "root"), new TaskKeys(() => agents), colourless, () => 60)

const shown = (reading: Reading) => reading.pager.draw(60, 20, colourless).join("\n")

const text = (letters: string): Key => ({ type: "text", text: letters })

describe("a transcript that is open", () => {
  it("begins with all that its task was given", () => {
    const given = Array.from({ length: 60 }, (_, at) => `step ${at + 1}`).join("\n")
    const reading = readingOf()
    const part = { id: "prt_0", messageID: "msg_0", sessionID: "ses_a", type: "text", text: `Do this:\n${given}` }
    reading.recall([
      { info: { id: "msg_0", sessionID: "ses_a", role: "user", from: "agent", time: {} }, parts: [part] },
      { info, parts: [answer("Done.", 1)] }
    ] as unknown as ReadonlyArray<MessageWithParts>)
    reading.follow()
    const all = reading.pager.lines.join("\n")
    expect(all).toContain("› Do this:\n  step 1\n")
    expect(all).toContain("step 60")
    expect(all.indexOf("Done.")).toBeGreaterThan(all.indexOf("step 60"))
  })

  it("shows what was said before, what is being said in the middle of it, and what follows", () => {
    const reading = readingOf()
    // The event comes while what was stored is read: it is in there as well, and shown once.
    reading.see(eventOf("a", "message.part.updated", { part: answer("One line.\nThe second") }))
    reading.recall([{ info, parts: [answer("One line.\nThe second")] }] as unknown as ReadonlyArray<MessageWithParts>)
    reading.follow()
    expect(shown(reading)).toContain("One line.\nThe second")
    const delta = { messageID: "msg_1", partID: "prt_1", field: "text", delta: " line grows" }
    expect(reading.see(eventOf("a", "message.part.delta", delta))).toBe(true)
    expect(shown(reading)).toContain("The second line grows")
    expect(reading.see(eventOf("b", "message.part.delta", delta))).toBe(false)
    reading.see(eventOf("a", "message.part.updated", { part: answer("One line.\nThe second line grows and ends.", 9) }))
    expect(shown(reading).match(/The second line grows and ends\./g)).toHaveLength(1)
    expect(shown(reading).match(/One line\./g)).toHaveLength(1)
  })

  it("shows all of an answer to whoever comes in the middle, once its text is told", () => {
    const reading = readingOf()
    reading.recall([{ info, parts: [] }] as unknown as ReadonlyArray<MessageWithParts>)
    reading.follow()
    reading.see(
      eventOf("a", "message.part.delta", { messageID: "msg_1", partID: "prt_1", field: "text", delta: "end" })
    )
    reading.see(eventOf("a", "message.part.updated", { part: answer("The beginning and the end") }))
    expect(shown(reading)).toContain("The beginning and the end")
  })

  it("takes a message for its agent, stops it, and resumes it where it has ended", () => {
    const agents = tree(["a"])
    const reading = readingOf(agents)
    reading.recall([])
    reading.follow()
    expect(shown(reading)).toContain("m message · s stop · b to the background")
    for (const key of [text("m"), text("stop it")]) expect(reading.press(key)).toBe("kept")
    expect(shown(reading)).toContain("message: stop it▏")
    expect(reading.press({ type: "key", name: "enter" })).toEqual({
      type: "messageTask",
      task: "ses_a",
      text: "stop it"
    })
    expect(reading.press(text("s"))).toEqual({ type: "stopTask", task: "ses_a" })
    const outcome = { taskID: "ses_a", runID: "run_1", status: "stopped", text: "", usage: none, durationMs: 1 }
    agents.see(eventOf("a", "subagent.failed", { task_id: "ses_a", outcome }))
    expect(shown(reading)).toContain("m message · r resume")
    expect(reading.press(text("r"))).toEqual({ type: "resumeTask", task: "ses_a" })
  })
})

describe("a tree of 1,000 agents", () => {
  const names = Array.from({ length: 1_000 }, (_, at) => `t${at}`)
  const large = tree(names)
  for (const name of names.slice(0, 990)) {
    const outcome = { taskID: `ses_${name}`, runID: "run_1", status: "completed", text: "", usage: none, durationMs: 1 }
    large.see(eventOf(name, "subagent.completed", { task_id: `ses_${name}`, outcome }))
  }

  it("fits: those at work first, and the others counted", () => {
    const lines = new TreeView(large).draw(100, 24, 1, colourless)
    expect(lines).toHaveLength(24)
    for (const name of names.slice(990)) expect(lines.join("\n")).toContain(`Task ${name} `)
    expect(lines.join("\n")).toMatch(/… and 9\d\d more: 9\d\d done/)
  })

  it("lists all where that is wanted, and keeps who is selected in sight", () => {
    const view = new TreeView(large)
    view.draw(100, 24, 1, colourless)
    view.press(text("a"))
    for (let page = 0; page < 60; page++) view.press({ type: "key", name: "pageDown" })
    const lines = view.draw(100, 24, 1, colourless).join("\n")
    expect(lines).toContain("❯ └─ ● general  Task t999")
    expect(view.press({ type: "key", name: "enter" })).toEqual({ type: "transcript", session: "ses_t999" as SessionID })
    view.press(text("a"))
    expect(view.draw(100, 24, 1, colourless).join("\n")).toContain("Task t999")
  })
})
