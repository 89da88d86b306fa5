import * as fc from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import { escapeLine, escapeText, escapeWords } from "../src/Escape.ts"

describe("what a terminal would obey or hide is shown (S50)", () => {
  it.each([
    ["\u001b[31m", "\\x1b[31m"],
    ["\u009b31m", "\\x9b31m"],
    ["\u007f\u0000\u0008", "\\x7f\\x00\\x08"],
    ["a\u202eb\u2066c", "a\\u202eb\\u2066c"],
    ["a\u200bb\ufeffc\u2060", "a\\u200bb\\ufeffc\\u2060"],
    ["\u00ad", "\\xad"],
    ["\u{e0041}\u{e0101}", "\\u{e0041}\\u{e0101}"],
    ["\u2028\u2029", "\\u2028\\u2029"],
    ["\u3164\u115f", "\\u3164\\u115f"],
    ["half \ud83d", "half \\ud83d"]
  ])("%j", (text, shown) => {
    expect(escapeLine(text)).toBe(shown)
    expect(escapeText(text)).toBe(shown)
  })

  it("what people write stays as it is", () => {
    const text = "Grüße, 世界! 🦆 é ✔️ ~/a_b-c \\x1b"
    expect(escapeLine(text)).toBe(text)
    expect(escapeText(text)).toBe(text)
  })

  it("words show the emoji that are combined to one, and nothing else that is invisible", () => {
    expect(escapeWords("👨‍👩‍👧‍👦 🏳️‍🌈 👩🏽‍💻")).toBe("👨👩👧👦 🏳️🌈 👩🏽💻")
    expect(escapeWords("a\u200db 👨\u200d 👨\u200d\u200d👩")).toBe("a\\u200db 👨\\u200d 👨\\u200d\\u200d👩")
    expect(escapeText("👨‍👩")).toBe("👨\\u200d👩")
  })

  it("a text keeps its lines and tabs, a line shows them", () => {
    expect(escapeText("a\n\tb\r\nc\rd")).toBe("a\n\tb\nc\\x0dd")
    expect(escapeLine("a\n\tb\r\n")).toBe("a\\n\\tb\\r\\n")
  })

  it("holds for every text", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(escapeLine(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
      expect(escapeText(text).replaceAll(/[\n\t]/g, "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
    }))
  })
})
