import { expect, it } from "vitest"
import { checker } from "../../src/internal/conversation/jsonChecker.ts"

const endless = `${"a".repeat(100)}!`

it("a regular expression that would never end is stopped, and the next value is checked as usual", () => {
  const check = checker({ properties: { name: { type: "string", pattern: "^(a+)+$" } } })
  expect(check({ name: endless })).toEqual([{ path: [], message: expect.stringContaining("timed out after 250ms") }])
  expect(check({ name: "aaa" })).toEqual([])
  expect(check({ name: "b" })).toEqual([{ path: ["name"], message: expect.stringContaining("pattern") }])
})

it("so is one for property names", () => {
  const check = checker({ patternProperties: { "^(a+)+$": { type: "string" } } })
  expect(check({ [endless]: 1 })).toMatchObject([{ message: expect.stringContaining("timed out") }])
})
