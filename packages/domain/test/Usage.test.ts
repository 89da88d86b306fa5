import { describe, expect, it } from "@effect/vitest"
import {
  add,
  addCost,
  costOf,
  exactCost,
  knownCost,
  none,
  noTokens,
  since,
  type Tokens,
  Usage
} from "@skein/domain/Usage"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"

const count = FastCheck.nat({ max: 10_000_000 })
const tokens: FastCheck.Arbitrary<Tokens> = FastCheck.record({
  input: count,
  output: count,
  reasoning: count,
  cacheRead: count,
  cacheWrite: count
})
const known = FastCheck.tuple(FastCheck.nat(), FastCheck.nat({ max: 999_999_999 })).map(([whole, rest]) =>
  rest === 0 ? `${whole}` : `${whole}.${String(rest).padStart(9, "0")}`.replace(/0+$/, "")
)
const cost = FastCheck.oneof({ weight: 4, arbitrary: known }, { weight: 1, arbitrary: FastCheck.constant("unknown") })
const usage: FastCheck.Arbitrary<Usage> = FastCheck.record({
  tokens,
  cost,
  steps: count,
  toolCalls: count,
  blockedToolCalls: count
})
const holds = <T>(arbitrary: FastCheck.Arbitrary<T>, check: (value: T) => void) =>
  FastCheck.assert(FastCheck.property(arbitrary, check))

/** A decimal as a whole number of its smallest digits, for an independent sum. */
const digits = (value: string): bigint => {
  const [whole = "0", rest = ""] = value.split(".")
  return BigInt(whole + rest.padEnd(18, "0"))
}

describe("costs", () => {
  it("add up without a rounding error", () => {
    expect(addCost("0.1", "0.2")).toBe("0.3")
    expect(addCost("0.000000000000000001", "1000000000000")).toBe("1000000000000.000000000000000001")
    expect(Array.from({ length: 1_000 }, () => "0.000125").reduce(addCost, "0")).toBe("0.125")
    holds(FastCheck.tuple(known, known), ([a, b]) => {
      expect(digits(addCost(a, b))).toBe(digits(a) + digits(b))
    })
  })

  it("keep what is known if a summand is unknown", () => {
    expect(addCost("0.35", "unknown")).toBe("0.35+")
    expect(addCost("0.35+", "1")).toBe("1.35+")
    expect(addCost("0.35+", "0.15+")).toBe("0.5+")
    expect(addCost("unknown", "unknown")).toBe("unknown")
    holds(FastCheck.array(cost), (all) => {
      const sum = all.reduce(addCost, "0")
      const known = all.filter((each) => each !== "unknown").reduce(addCost, "0")
      expect(knownCost(sum)).toBe(known)
      expect(exactCost(sum)).toBe(all.includes("unknown") ? "unknown" : known)
    })
  })

  it("are written without an exponent and without trailing zeros", () => {
    holds(FastCheck.tuple(known, known), ([a, b]) => {
      expect(addCost(a, b)).toMatch(/^(0|[1-9]\d*)(\.\d*[1-9])?$/)
    })
  })
})

describe("the cost of tokens", () => {
  const price = { input: "3", output: "15", cacheRead: "0.3", cacheWrite: "3.75" }

  it("is exact, with the price of cached tokens", () => {
    const used = { ...noTokens, input: 1_000, output: 10, cacheRead: 600, cacheWrite: 100 }
    // 300 x 3 + 600 x 0.3 + 100 x 3.75 + 10 x 15, for a million each
    expect(costOf(used, price)).toBe("0.001605")
    expect(costOf({ ...noTokens, input: 1 }, { input: "0.1", output: "0" })).toBe("0.0000001")
  })

  it("does not count reasoning twice", () => {
    expect(costOf({ ...noTokens, output: 100, reasoning: 90 }, price)).toBe(costOf({ ...noTokens, output: 100 }, price))
  })

  it("is unknown without a price, and with an unknown price of used tokens", () => {
    expect(costOf({ ...noTokens, input: 1 }, undefined)).toBe("unknown")
    expect(costOf(noTokens, undefined)).toBe("unknown")
    expect(costOf({ ...noTokens, output: 1 }, { input: "1", output: "unknown" })).toBe("unknown")
    expect(costOf({ ...noTokens, input: 1 }, { input: "1", output: "unknown" })).toBe("0.000001")
  })

  it("is 0 for a free model", () => {
    expect(costOf({ ...noTokens, input: 5, output: 5 }, { input: "0", output: "0" })).toBe("0")
  })
})

describe("usage", () => {
  it("adds up in any order, with a neutral element", () => {
    holds(FastCheck.tuple(usage, usage, usage), ([a, b, c]) => {
      expect(add(a, b)).toEqual(add(b, a))
      expect(add(add(a, b), c)).toEqual(add(a, add(b, c)))
      expect(add(a, none)).toEqual(a)
    })
  })

  it("since a measurement is what was added after it", () => {
    holds(FastCheck.tuple(usage, usage), ([before, more]) => {
      const got = since(before, add(before, more))
      const isExact = before.cost !== "unknown" && more.cost !== "unknown"
      expect(got).toEqual({ ...more, cost: isExact ? more.cost : addCost("unknown", more.cost) })
    })
  })

  it("can be stored after any additions and subtractions", () => {
    const decode = Schema.decodeUnknownSync(Usage)
    holds(FastCheck.tuple(usage, usage), ([a, b]) => {
      expect(decode(add(a, b))).toEqual(add(a, b))
      expect(decode(since(a, add(a, b)))).toEqual(since(a, add(a, b)))
    })
  })
})
