import * as FastCheck from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import { portionsOf } from "../../src/internal/compact/compactText.ts"

const numbered = (count: number, size: number) => Array.from({ length: count }, (_, n) => `#${n} `.padEnd(size, "x"))

describe("the portions of a conversation", () => {
  it("are one if it fits, else as few as can hold all of it, in order", () => {
    expect(portionsOf(numbered(9, 100), 1_000, 200, 8)).toEqual([numbered(9, 100).join("\n\n")])
    const two = portionsOf(numbered(12, 100), 1_000, 200, 8)
    expect(two.map((each) => each.split("\n\n").length)).toEqual([7, 5])
    expect(two.join("\n\n")).toBe(numbered(12, 100).join("\n\n"))
  })

  it("never exceed their number and length: then the middle is left out, which the text says", () => {
    FastCheck.assert(FastCheck.property(
      FastCheck.integer({ min: 1, max: 400 }),
      FastCheck.integer({ min: 10, max: 400 }),
      (count, size) => {
        const portions = portionsOf(numbered(count, size), 1_000, 200, 4)
        expect(portions.length).toBeLessThanOrEqual(4)
        for (const each of portions) expect(each.length).toBeLessThanOrEqual(1_000)
        const all = portions.join("\n\n").split("\n\n")
        const missing = all.map((entry) => /^\((\d+) messages are left out here\)$/.exec(entry)?.[1])
          .find((each) => each !== undefined)
        expect(all.length + (missing === undefined ? 0 : Number(missing) - 1)).toBe(count)
        expect([all[0], all.at(-1)]).toEqual([numbered(count, size)[0], numbered(count, size).at(-1)])
      }
    ))
  })
})
