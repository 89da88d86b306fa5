import * as fc from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import { divide } from "../../src/internal/shares.ts"

const wish = (waiting: number, roots = 1, held = 0) => ({ held, waiting, roots })
const idle = { held: 0, waiting: 0, roots: 0 }
const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((total, each) => total + each, 0)

const anyWish = fc.record({
  held: fc.nat({ max: 50 }),
  waiting: fc.nat({ max: 500 }),
  roots: fc.nat({ max: 20 })
})

describe("a limit on requests", () => {
  it("is divided completely, and never exceeded", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 300 }),
        fc.array(anyWish, { minLength: 1, maxLength: 9 }),
        fc.nat(),
        (limit, wishes, turn) => {
          const shares = divide(limit, wishes, turn)
          expect(sum(shares)).toBe(limit)
          expect(Math.min(...shares)).toBeGreaterThanOrEqual(0)
        }
      )
    )
  })

  it("is divided by the number of trees that want it", () => {
    expect(divide(12, [wish(100, 1), wish(100, 2), wish(100, 3)], 0)).toEqual([2, 4, 6])
  })

  it("goes to those who want it, and what is left over to all", () => {
    expect(divide(20, [wish(100), wish(2), idle], 0)).toEqual([17, 2, 1])
    expect(divide(9, [idle, idle, idle], 0)).toEqual([3, 3, 3])
    expect(divide(16, [wish(1), idle], 0)).toEqual([8, 8])
  })

  it("passes from one to the next if there is not one place for each", () => {
    const wishes = [wish(5), wish(5), wish(5)]
    const turns = [0, 1, 2].map((turn) => divide(1, wishes, turn))
    expect(turns).toEqual([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
  })
})
