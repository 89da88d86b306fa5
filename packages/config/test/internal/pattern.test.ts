import { covers } from "@skein/core/Ruleset"
import * as FastCheck from "effect/FastCheck"
import { expect, it } from "vitest"
import { coversAll, overlaps } from "../../src/internal/mergeProject.ts"

const pattern = FastCheck.string({ unit: FastCheck.constantFrom("a", "b", "*", "?", " "), maxLength: 6 })
const text = FastCheck.string({ unit: FastCheck.constantFrom("a", "b", " "), maxLength: 5 })

it("covers only what it matches", () => {
  FastCheck.assert(
    FastCheck.property(pattern, pattern, text, (wide, narrow, each) => {
      if (coversAll(wide, narrow) && covers(narrow, each)) expect(covers(wide, each)).toBe(true)
    }),
    { numRuns: 20_000 }
  )
})

it("covers the common forms of rules", () => {
  for (
    const [wide, narrow] of [["*", "git *"], ["git *", "git"], ["git *", "git log *"], ["a*", "a?b*"], ["~/*", "~/x"]]
  ) {
    expect([wide, narrow, coversAll(wide ?? "", narrow ?? "")]).toEqual([wide, narrow, true])
  }
  for (const [wide, narrow] of [["git *", "*"], ["a", "a*"], ["?", "*"], ["git log *", "git *"]]) {
    expect([wide, narrow, coversAll(wide ?? "", narrow ?? "")]).toEqual([wide, narrow, false])
  }
})

it("overlaps whenever both match some text", () => {
  FastCheck.assert(
    FastCheck.property(pattern, pattern, text, (a, b, each) => {
      if (covers(a, each) && covers(b, each)) expect(overlaps(a, b)).toBe(true)
    }),
    { numRuns: 20_000 }
  )
})

it("recognises disjoint patterns", () => {
  expect(overlaps("git *", "npm *")).toBe(false)
  expect(overlaps("a*b", "b*")).toBe(false)
  expect(overlaps("ab", "a?")).toBe(true)
  expect(overlaps("~/x", "/home/me/x")).toBe(true)
})
