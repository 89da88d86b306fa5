import type { QuestionRequest } from "@skein/domain/Event"
import type { PartID, SessionID } from "@skein/domain/Id"
import { describe, expect, it } from "vitest"
import { colourless } from "../../src/internal/terminal/style.ts"
import { answerLine, questionLines } from "../../src/internal/tree/questionLines.ts"
import { QuestionQueue } from "../../src/internal/tree/questionQueue.ts"

const request = (id: string, more: Partial<QuestionRequest> = {}): QuestionRequest => ({
  id: id as PartID,
  sessionID: "ses_1" as SessionID,
  rootID: "ses_1" as SessionID,
  path: ["build", "general"],
  question: "Which?",
  options: [{ label: "red" }, { label: "blue", description: "like \u001b[31mthe sky" }],
  multiple: false,
  ...more
})

const shown = (...requests: ReadonlyArray<QuestionRequest>) => {
  const queue = new QuestionQueue()
  for (const each of requests) queue.add(each)
  queue.show()
  return queue
}

describe("keys", () => {
  it("choose one option at once", () => {
    expect(shown(request("prt_1")).type("2")).toEqual({ id: "prt_1", answers: ["blue"] })
  })

  it("choose several where that is asked for, and take them back; own words go along", () => {
    const queue = shown(request("prt_1", { multiple: true }))
    expect(queue.type("212")).toBeUndefined()
    expect(queue.chosen).toEqual(["red"])
    queue.type("2")
    expect(queue.type("and green\r")).toEqual({ id: "prt_1", answers: ["red", "blue", "and green"] })
  })

  it("write an answer, digits too once it has begun; Escape clears it, and then says that there is none", () => {
    const queue = shown(request("prt_1"))
    expect(queue.type("in 2 days\u007f")).toBeUndefined()
    expect(queue.text).toBe("in 2 day")
    queue.type("\u001b")
    expect(queue.text).toBe("")
    expect(queue.type("\u001b")).toEqual({ id: "prt_1", answers: undefined })
    expect(shown(request("prt_1", { options: [] })).type("7\r")).toEqual({ id: "prt_1", answers: ["7"] })
  })

  it("of no meaning do nothing, and none answers what is not on the screen, or twice", () => {
    const queue = shown(request("prt_1"), request("prt_2"))
    for (const key of ["\r", "3", "\u007f\u0015", "\u001b[A"]) {
      expect(queue.type(key === "3" ? "\u0015" : key)).toBeUndefined()
    }
    expect(queue.others).toBe(1)
    expect(queue.type("12")).toEqual({ id: "prt_1", answers: ["red"] })
    expect(queue.type("1")).toBeUndefined()
    queue.remove("prt_1" as PartID)
    expect(queue.type("1")).toBeUndefined()
    expect(queue.show()?.id).toBe("prt_2")
    expect(queue.type("1")).toEqual({ id: "prt_2", answers: ["red"] })
  })
})

it("a question shows who asks, and nothing that a terminal would obey", () => {
  expect(questionLines(request("prt_1", { question: "One?\nTwo?" }), 80, colourless)).toEqual([
    "? build > general asks:",
    "  One?",
    "  Two?",
    "  1 red",
    "  2 blue: like \\x1b[31mthe sky"
  ])
  const state = { text: "", chosen: [], others: 0 }
  expect(answerLine(request("prt_1"), state, 80)).toBe("[1-2] choose  or write an answer  [Esc] no answer")
  expect(answerLine(request("prt_1"), { ...state, text: "my \u001b" }, 80)).toContain("answer: my \\x1b▏")
})
