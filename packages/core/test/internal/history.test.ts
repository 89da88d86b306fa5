import type { MessageID, PartID, SessionID } from "@skein/domain/Id"
import type { AssistantMessage, UserMessage } from "@skein/domain/Message"
import type { Part, ToolState } from "@skein/domain/Part"
import { none } from "@skein/domain/Usage"
import * as FastCheck from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import { makePrompt, missingResult } from "../../src/internal/conversation/makePrompt.ts"
import type { LiveMessage } from "../../src/internal/live/History.ts"

const sessionID = "ses_1" as SessionID
const base = { id: "prt_0" as PartID, sessionID, messageID: "msg_0" as MessageID }

const states: ReadonlyArray<ToolState> = [
  { status: "pending", input: "{\"a\":1}" },
  { status: "pending", input: "no JSON" },
  { status: "running", input: { a: 1 }, time: { start: 0 } },
  { status: "completed", input: { a: 1 }, output: "found", title: "t", metadata: {}, time: { start: 0, end: 1 } },
  {
    status: "completed",
    input: [1],
    output: "an image",
    title: "t",
    metadata: {},
    attachments: [{ mime: "image/png", url: "data:image/png;base64,AA==" }],
    time: { start: 0, end: 1 }
  },
  { status: "error", input: "x", error: { tag: "permission", message: "Permission denied." } }
]

/** What no strict provider takes as a text or a result. */
const blanks = ["", " ", "\n\n", "\r\n", "\t \u2003", "\u0085\u001f", "\u200b\ufeff"]

const blankStates = blanks.flatMap((text): ReadonlyArray<ToolState> => [
  { status: "completed", input: {}, output: text, title: "t", metadata: {}, time: { start: 0, end: 1 } },
  { status: "error", input: {}, error: { tag: "exit", message: text } }
])

/** What a model, a user, or a crash may leave, with empty, duplicate or arbitrary call ids. */
const part: FastCheck.Arbitrary<Part> = FastCheck.oneof(
  FastCheck.constantFrom<Part>(
    ...blanks.map((text): Part => ({ ...base, type: "text", text })),
    { ...base, type: "text", text: "\n\n", metadata: { google: { thoughtSignature: "s" } } },
    { ...base, type: "text", text: "said" },
    { ...base, type: "reasoning", text: "thought" },
    { ...base, type: "reasoning", text: "signed", metadata: { openai: { itemId: "r" } } },
    { ...base, type: "step-start" },
    { ...base, type: "file", mime: "text/plain", url: "data:text/plain,x" }
  ),
  FastCheck.record({
    callID: FastCheck.constantFrom("", "call_0", "x".repeat(200)),
    tool: FastCheck.constantFrom("read", "no such/tool", ""),
    state: FastCheck.constantFrom(...states, ...blankStates)
  }).map((call): Part => ({ ...base, type: "tool", ...call }))
)

const infos: ReadonlyArray<UserMessage | AssistantMessage> = [
  { id: base.messageID, sessionID, role: "user", agent: "build", time: { created: 0 } },
  {
    id: base.messageID,
    sessionID,
    role: "assistant",
    parentID: base.messageID,
    agent: "build",
    providerID: "p",
    modelID: "m",
    path: { cwd: "/", root: "/" },
    usage: none,
    time: { created: 0 }
  }
]

const history = FastCheck.array(
  FastCheck.record({ info: FastCheck.constantFrom(...infos), parts: FastCheck.array(part, { maxLength: 5 }) }),
  { maxLength: 6 }
).map((messages) =>
  messages.map(({ info, parts }, m): LiveMessage => ({
    info,
    parts: parts.map((each, p) => ({ ...each, id: `prt_${m}0${p}` as PartID })),
    prompt: undefined
  }))
)

describe("the prompt of a history", () => {
  it("has exactly one result for each call, next to it, under a unique id", () => {
    FastCheck.assert(FastCheck.property(history, (messages) => {
      const prompt = makePrompt("be good", messages)
      const ids: Array<string> = []
      for (const [i, message] of prompt.entries()) {
        const next = prompt[i + 1]
        if (message.role === "assistant") {
          const calls = message.content.filter((each) => each.type === "tool-call")
          for (const { input, toolCallId, toolName } of calls) {
            ids.push(toolCallId)
            expect(toolName).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
            expect(input).toBeTypeOf("object")
            expect(Array.isArray(input)).toBe(false)
          }
          expect(next?.role === "tool" ? next.content.map((each) => each.toolCallId) : []).toEqual(
            calls.map((each) => each.toolCallId)
          )
        }
        if (message.role === "tool") expect(prompt[i - 1]?.role).toBe("assistant")
      }
      expect(new Set(ids).size).toBe(ids.length)
      expect(ids.length).toBe(
        messages.flatMap(({ info, parts }) =>
          info.role === "assistant" ? parts.filter((each) => each.type === "tool") : []
        )
          .length
      )
    }))
  })

  it("has no blank text and no blank result, whatever was stored", () => {
    const shows = /[^\s\p{Cc}\p{Cf}]/u
    FastCheck.assert(FastCheck.property(history, FastCheck.constantFrom(...blanks, "be good"), (messages, system) => {
      for (const message of makePrompt(system, messages)) {
        const texts = message.role === "system" ? [message.content] : message.content.flatMap((part) => {
          if (part.type === "tool-result") return [part.output.value]
          return part.type === "text" ? [part.text] : []
        })
        for (const text of texts) expect(text).toMatch(shows)
      }
    }))
  })

  it("still asks for an answer if the user's message is blank", () => {
    const blank = { info: infos[0]!, parts: [{ ...base, type: "text", text: "\n" } as const], prompt: undefined }
    const prompt = makePrompt("", [blank])
    expect(prompt).toEqual([{ role: "user", content: [{ type: "text", text: "(an empty message)" }] }])
  })

  it("has no two consecutive user messages, and none without content", () => {
    FastCheck.assert(FastCheck.property(history, (messages) => {
      const prompt = makePrompt("", messages)
      for (const [i, message] of prompt.entries()) {
        expect(message.content.length).toBeGreaterThan(0)
        if (message.role === "user") expect(prompt[i - 1]?.role).not.toBe("user")
        if (message.role === "assistant") expect(message.content.some((each) => each.type !== "reasoning")).toBe(true)
      }
    }))
  })

  it("says that the outcome of a call without an end is unknown", () => {
    const messages = states.slice(0, 3).map((state): LiveMessage => ({
      info: infos[1]!,
      parts: [{ ...base, type: "tool", callID: "c", tool: "bash", state }],
      prompt: undefined
    }))
    const results = makePrompt("", messages).flatMap((message) => message.role === "tool" ? message.content : [])
    expect(results.map(({ output }) => output)).toEqual(
      states.slice(0, 3).map(() => ({
        type: "error-text",
        value: missingResult
      }))
    )
    expect(missingResult).toContain("unknown")
  })
})
