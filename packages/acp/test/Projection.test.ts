/** Proves what is made of events, as data: no client, no clock, no protocol. */
import { Projection } from "@skein/acp/Projection"
import type { Event } from "@skein/domain/Event"
import { expect, it } from "vitest"
import { ownUpdates } from "../src/internal/encode/common.ts"

const root = "ses_root"

const event = (type: string, properties: object, session = root): Event =>
  ({
    id: "evt_1",
    type,
    timestamp: 1,
    sessionID: session,
    rootID: root,
    depth: session === root ? 0 : 1,
    properties
  }) as never

const part = (text: string, more: object = {}) =>
  event("message.part.updated", {
    part: { id: "prt_1", messageID: "msg_1", sessionID: root, type: "text", text, ...more }
  })

const delta = (text: string) =>
  event("message.part.delta", { messageID: "msg_1", partID: "prt_1", field: "text", delta: text })

const texts = (projection: Projection, events: ReadonlyArray<Event>) =>
  events.flatMap((each) => projection.see(each)).flatMap((change) =>
    change.type === "text" ? [[change.message, change.text]] : []
  )

it("gives each piece of a text once, whether it comes as a piece or with the whole", () => {
  expect(texts(new Projection(), [part(""), delta("He"), delta("llo"), part("Hello"), part("Hello, you")])).toEqual([
    ["msg_1", "He"],
    ["msg_1", "llo"],
    ["msg_1", ", you"]
  ])
})

it("begins another message where a failed try is withdrawn", () => {
  expect(texts(new Projection(), [delta("Half"), part(""), delta("Whole"), part("Whole")])).toEqual([
    ["msg_1", "Half"],
    ["msg_1#1", "Whole"]
  ])
})

it("leaves out what the runtime writes, and says who wrote the rest", () => {
  const projection = new Projection()
  const message = (from?: string) =>
    event("message.updated", { info: { id: "msg_1", role: "user", ...(from === undefined ? {} : { from }) } })
  const by = (events: ReadonlyArray<Event>) =>
    events.flatMap((each) => projection.see(each)).map((change) => change.type === "text" ? change.by : change.type)
  expect(by([message(), part("Notification", { synthetic: true })])).toEqual([])
  expect(by([message(), part("Go")])).toEqual(["person"])
  expect(by([message("agent"), part("Go on")])).toEqual(["caller"])
})

it("tells that nobody continues the session", () => {
  const projection = new Projection()
  const facts = { directory: "/work", contextOf: () => undefined, compaction: false }
  const changes = [{ type: "busy", step: 1 }, { type: "away", host: "alpha", directory: "/work" }, {
    type: "stuck",
    cause: "msg_1 cannot be read"
  }].flatMap((status) => projection.see(event("session.status", { status })))
  const thought = (text: string) => ({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text } })
  expect(changes.flatMap((change) => ownUpdates(change, facts))).toEqual([
    thought("The session waits for a server on the host alpha: its directory is /work there.\n"),
    thought("The session cannot be continued: msg_1 cannot be read. Servers try again from time to time.\n")
  ])
})

it("tells a subagent once for each change of what it does, and never after it has settled", () => {
  const projection = new Projection()
  const task = {
    task_id: "ses_child",
    run_id: "run_1",
    trigger_session_id: root,
    agent: "explore",
    description: "Look",
    path: ["build", "explore"]
  }
  const asked = (id: string) =>
    event(
      "permission.asked",
      { id, sessionID: "ses_child", path: [], patterns: [], always: [], metadata: {} },
      "ses_child"
    )
  const replied = (id: string) => event("permission.replied", { id, reply: "once" }, "ses_child")
  const outcome = { status: "completed", text: "Found", usage: {} }
  const seen = [
    event("subagent.created", task, "ses_child"),
    asked("per_1"),
    asked("per_2"),
    replied("per_1"),
    replied("per_2"),
    event("subagent.completed", { ...task, outcome }, "ses_child"),
    asked("per_3")
  ].map((each) =>
    projection.see(each).map((change) =>
      change.type === "subagent" ? `${change.isNew} ${change.state.type}` : change.type
    )
  )
  expect(seen).toEqual([
    ["true running"],
    ["false asking", "asked"],
    ["asked"],
    ["replied"],
    ["replied", "false running"],
    ["false settled"],
    ["asked"]
  ])
})
