/** Proves that sums are the same as those of domain. */
import * as Usage from "@skein/domain/Usage"
import { since, sum } from "@skein/view/AgentTree"
import * as FastCheck from "effect/FastCheck"
import { expect, it } from "vitest"

const count = FastCheck.nat({ max: 1_000_000 })
const cost = FastCheck.oneof(
  {
    weight: 8,
    arbitrary: FastCheck.tuple(count, count).map(([whole, rest]) =>
      Usage.plainDecimal(
        { value: BigInt(whole) * 1_000_000n + BigInt(rest), scale: 6 } as never
      )
    )
  },
  { weight: 1, arbitrary: FastCheck.constant("unknown" as const) }
)
const usage = FastCheck.record({
  tokens: FastCheck.record({ input: count, output: count, reasoning: count, cacheRead: count, cacheWrite: count }),
  cost,
  steps: count,
  toolCalls: count,
  blockedToolCalls: count
})

it("adds and subtracts as domain does, without its decimals", () => {
  FastCheck.assert(FastCheck.property(usage, usage, (a, b) => {
    const both = Usage.add(a, b)
    expect(sum(a, b)).toEqual(both)
    expect(since(a, both)).toEqual(Usage.since(a, both))
  }))
})
