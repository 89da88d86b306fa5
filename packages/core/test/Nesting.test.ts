import { deepest, flattened, isNested, isTextNested, tooDeep } from "@skein/core/Nesting"
import * as fc from "effect/FastCheck"
import { expect, it } from "vitest"

const list = (levels: number): string => "[".repeat(levels) + "]".repeat(levels)
const object = (levels: number): string => "{\"a\":".repeat(levels) + "1" + "}".repeat(levels)

it("counts the levels of a text, and ignores brackets in its strings", () => {
  for (const text of [list, object]) {
    expect(isTextNested(text(100), 100)).toBe(false)
    expect(isTextNested(text(101), 100)).toBe(true)
    expect(isTextNested(text(1_000_000))).toBe(true)
  }
  expect(isTextNested(JSON.stringify({ text: "[".repeat(2_000), more: "\\\"{".repeat(2_000) }))).toBe(false)
  expect(isTextNested(`["\\\\",${list(100)}]`, 100)).toBe(true)
  expect(isTextNested(`[${"[],".repeat(1_000)}1]`, 2)).toBe(false)
})

it("counts the same for a text and for its value", () => {
  fc.assert(fc.property(fc.json(), fc.nat({ max: 6 }), (text, most) => {
    expect(isNested(JSON.parse(text), most)).toBe(isTextNested(text.padEnd(most + 1), most))
  }))
})

it("cuts what is too deep, and keeps everything else unchanged", () => {
  const fine = JSON.parse(object(deepest)) as unknown
  expect(flattened(fine)).toBe(fine)
  const cut = flattened({ beside: [1, "x"], deep: JSON.parse(list(100_000)) as unknown })
  expect(isNested(cut)).toBe(false)
  expect(cut.beside).toEqual([1, "x"])
  expect(JSON.stringify(cut)).toContain(`["${tooDeep}"]`)
})

it("terminates for a value that contains itself", () => {
  const value: Record<string, unknown> = { name: "x" }
  value["self"] = value
  expect(isNested(flattened(value))).toBe(false)
})
