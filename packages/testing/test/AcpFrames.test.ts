/** Proves that frames which break the protocol are found. */
import { expect, it } from "@effect/vitest"
import { makeChecker } from "@skein/testing/AcpFrames"

const update = (update: object) => ({ method: "session/update", params: { sessionId: "ses_1", update } })

const announced = update({ sessionUpdate: "subagent_update", sessionId: "ses_2", state: { state: "running" } })

it("accepts frames as the protocol wants them", () => {
  const check = makeChecker(true)
  expect([
    ...check("client", { id: 1, method: "initialize", params: { protocolVersion: 1 } }),
    ...check("agent", { id: 1, result: { protocolVersion: 1 } }),
    ...check("agent", update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Hi" } })),
    ...check("agent", { id: 1, error: { code: -32603, message: "no" } })
  ]).toEqual([])
})

it.each([
  ["a kind that is none", update({ sessionUpdate: "shout", content: { type: "text", text: "Hi" } })],
  ["content without a type", update({ sessionUpdate: "agent_message_chunk", content: { text: "Hi" } })],
  ["a call without an id", update({ sessionUpdate: "tool_call", title: "read" })],
  ["a status that is none", update({ sessionUpdate: "tool_call", toolCallId: "1", title: "read", status: "done" })],
  ["an answer to nothing", { id: 9, result: {} }],
  ["a method that is none", { id: 9, method: "session/explode", params: {} }],
  ["an error without a code", { id: 9, error: { message: "no" } as never }]
])("finds %s", (_, frame) => {
  expect(makeChecker(true)("agent", frame)).not.toEqual([])
})

it("accepts what is unstable only for clients that declare it", () => {
  expect(makeChecker(false)("agent", announced)).toEqual([])
  expect(makeChecker(true)("agent", announced)).not.toEqual([])
})
