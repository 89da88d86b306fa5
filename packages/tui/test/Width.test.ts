import * as fc from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import { fit, widthOf, wrap } from "../src/Width.ts"

describe("how wide text is", () => {
  it.each([
    ["", 0],
    ["abc", 3],
    ["世界", 4],
    ["ｗｉｄｅ", 8],
    ["🦆", 2],
    ["é", 1],
    ["e\u0301", 1],
    ["├─ ●", 4],
    ["\u1100\u1161\u11a8", 2],
    ["…", 1]
  ])("%j takes %i columns", (text, columns) => {
    expect(widthOf(text)).toBe(columns)
  })

  it.each([
    ["abc", 3, "abc"],
    ["abcd", 3, "ab…"],
    ["世界人", 5, "世界…"],
    ["世界人", 4, "世…"],
    ["abc", 1, "…"],
    ["abc", 0, ""]
  ])("%j in %i columns is %j", (text, columns, cut) => {
    expect(fit(text, columns)).toBe(cut)
  })

  const texts = fc.string({ unit: "grapheme" })

  it("what is cut always fits", () => {
    fc.assert(fc.property(texts, fc.integer({ min: 0, max: 40 }), (text, columns) => {
      expect(widthOf(fit(text, columns))).toBeLessThanOrEqual(columns)
    }))
  })

  it("what is wrapped fits row by row, and nothing of it is lost", () => {
    fc.assert(fc.property(texts, fc.integer({ min: 2, max: 40 }), (text, columns) => {
      const rows = wrap(text, columns)
      expect(rows.join("")).toBe(text)
      for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(columns)
    }))
  })
})
