import { describe, expect, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { cleanArguments, cleanBody, cleanText, makeDeltaCleaner } from "../../src/internal/json.ts"

const units = fc.array(
  fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.constantFrom(0, 0xd83d, 0xde00, 0x5c, 0x75, 0x64))
)
  .map((codes) => String.fromCharCode(...codes))

const isWellFormed = (text: string) => !/[\uD800-\uDFFF\0]/u.test(text)

/** Every text inside a JSON value. */
const textsIn = (value: unknown): ReadonlyArray<string> =>
  typeof value === "string"
    ? [value]
    : typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([key, one]) => [key, ...textsIn(one)])
    : []

describe("wellFormed", () => {
  it("cleaned text is well-formed, and well-formed text stays", () => {
    fc.assert(fc.property(units, (text) => {
      const clean = cleanText(text)
      expect(isWellFormed(clean)).toBe(true)
      expect(clean).toHaveLength(text.length)
      if (isWellFormed(text)) expect(clean).toBe(text)
    }))
  })

  it("deltas give the same text wherever they are split", () => {
    fc.assert(fc.property(fc.array(units), (deltas) => {
      const cleaner = makeDeltaCleaner()
      const cleaned = deltas.map((delta) => cleaner.push(delta))
      expect(cleaned.every(isWellFormed)).toBe(true)
      expect(cleaned.join("") + cleaner.end()).toBe(cleanText(deltas.join("")))
    }))
  })

  it("cleaned arguments are the same JSON without lone surrogates", () => {
    fc.assert(fc.property(fc.dictionary(units, units), (value) => {
      const clean: unknown = JSON.parse(cleanArguments(JSON.stringify(value)))
      expect(textsIn(clean).every((text) => isWellFormed(text.replaceAll("\0", "")))).toBe(true)
      if (textsIn(value).every(isWellFormed)) expect(clean).toEqual(value)
    }))
  })

  it("a cleaned body parses, and contains only well-formed text", () => {
    fc.assert(fc.property(fc.array(units), (value) => {
      expect(JSON.parse(cleanBody(JSON.stringify(value)))).toEqual(value.map(cleanText))
    }))
  })

  it("distinguishes escapes from text that looks like one", () => {
    const text = JSON.stringify({ a: "\\ud800", b: "\\\\u0000" })
    expect(cleanBody(text)).toBe(text)
    expect(cleanArguments(text)).toBe(text)
  })
})
