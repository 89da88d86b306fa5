/** Proves how a question of an agent is asked, and what an answer means. */
import { PartID, SessionID } from "@skein/domain/Id"
import { expect, it } from "vitest"
import { answersIn, choiceOf, chosen, formOf } from "../../src/internal/asking.ts"

const request = {
  id: PartID.make("prt_1"),
  sessionID: SessionID.make("ses_1"),
  rootID: SessionID.make("ses_1"),
  path: ["build", "lead"],
  question: "Which one?",
  options: [{ label: "Red", description: "warm" }, { label: "Blue" }],
  multiple: false
}

it("a form has the options, and a line for other words", () => {
  expect(formOf(request, "ses_1")).toMatchObject({
    mode: "form",
    message: "build › lead: Which one?",
    requestedSchema: {
      properties: {
        choice: { type: "string", oneOf: [{ const: "Red", title: "Red: warm" }, { const: "Blue", title: "Blue" }] },
        words: { type: "string" }
      }
    }
  })
  const free = formOf({ ...request, options: [] }, "ses_1")
  expect(Object.keys("requestedSchema" in free ? Object(free.requestedSchema).properties : {})).toEqual(["words"])
})

it.each<[object, ReadonlyArray<string> | undefined]>([
  [{ action: "accept", content: { choice: "Red" } }, ["Red"]],
  [{ action: "accept", content: { choice: "Red", words: " and more " } }, ["Red", "and more"]],
  [{ action: "accept", content: { choice: ["Red", "Blue"] } }, ["Red", "Blue"]],
  [{ action: "accept", content: { words: "  " } }, undefined],
  [{ action: "accept" }, undefined],
  [{ action: "accept", content: { choice: 7 } }, undefined],
  [{ action: "decline" }, undefined],
  [{ action: "cancel" }, undefined]
])("the form %j answers %j", (response, answers) => {
  expect(answersIn(response as never)).toEqual(answers)
})

it("a client without forms chooses among the options, or gives no answer", () => {
  expect(choiceOf(request, "ses_1")?.options.map(({ kind, name }) => [kind, name])).toEqual([
    ["allow_once", "Red: warm"],
    ["allow_once", "Blue"],
    ["reject_once", "No answer"]
  ])
  expect(choiceOf({ ...request, options: [] }, "ses_1")).toBeUndefined()
  expect(chosen(request, { outcome: { outcome: "selected", optionId: "option-1" } })).toEqual(["Blue"])
  expect(chosen(request, { outcome: { outcome: "selected", optionId: "none" } })).toBeUndefined()
  expect(chosen(request, { outcome: { outcome: "cancelled" } })).toBeUndefined()
})
